/** A change of one place in the sources. `find` must occur in the file exactly once. */
export interface Patch {
  /** Under `packages/hapax/src`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

/** A mistake that the property must catch, made in a copy of the real sources. */
export interface PlantedBug {
  readonly name: string;
  readonly patches: readonly Patch[];
}

const TRANSITIONS = "core/transitions.ts";
const CLIENT = "core/store-client.ts";
const HEARTBEAT = "core/heartbeat.ts";
const GROUP_COMMIT = "core/group-commit.ts";
const HELD_CLAIM = "core/held-claim.ts";
const RUN = "core/run.ts";
const DECISIONS = "core/upkeep-transitions.ts";
const MEMORY = "stores/memory/store.ts";

function bug(name: string, file: string, find: string, replace: string): PlantedBug {
  return { name, patches: [{ file, find, replace }] };
}

/** One of each kind that the simulator was asked to catch. */
export const KINDS: readonly PlantedBug[] = [
  bug("a settlement needs no token", TRANSITIONS, "record.token !== settlement.token", "false"),
  {
    name: "the lease runs by the client's clock",
    patches: [
      {
        file: CLIENT,
        find: "      owner,\n      fingerprint,",
        replace: "      owner, fingerprint, clientMs: clock.wallMs(),",
      },
      {
        file: TRANSITIONS,
        find: "if (nowMs < record.leaseUntilMs)",
        replace: "if (request.clientMs < record.leaseUntilMs)",
      },
      { file: TRANSITIONS, find: "nowMs + request.leaseMs", replace: "request.clientMs + request.leaseMs" },
    ],
  },
  bug("a heartbeat revives a lease that is over", TRANSITIONS, " || !isLive(record, nowMs)", ""),
  bug("a heartbeat revives a claim that was taken over", TRANSITIONS, "record.token !== lease.token", "false"),
  bug("answers of a batch are swapped", GROUP_COMMIT, "answers[index] as", "answers[answers.length - 1 - index] as"),
  bug("a claim ignores its claimId", TRANSITIONS, "record.claimId === request.claimId", "false"),
  bug("trust counts from a retry", CLIENT, "ask.firstSentMs ??= sentMs", "ask.firstSentMs = sentMs"),
  {
    name: "retention counts from the claim",
    patches: [
      { file: TRANSITIONS, find: "expiresAtMs: undefined,", replace: "expiresAtMs: nowMs + request.retentionMs," },
      { file: TRANSITIONS, find: "nowMs + record.retentionMs", replace: "record.expiresAtMs" },
    ],
  },
  bug("a settlement is told by its token alone", TRANSITIONS, "isSame(record, settlement) ?", "true ?"),
  bug(
    "a joiner is served a value that the store refused",
    RUN,
    '  claim.end({ kind: "anew", counted: false });\n  if (answer.kind === "unanswered") {',
    '  claim.end({ kind: "value", value, bytes: undefined });\n  if (answer.kind === "unanswered") {',
  ),
];

const TRUST: readonly PlantedBug[] = [
  {
    name: "a late grant is run",
    patches: [
      { file: CLIENT, find: "heardMs < firstSentMs + operation.settings.trustMs", replace: "true" },
      { file: RUN, find: "engine.now() >= firstSentMs + settings.trustMs", replace: "false" },
    ],
  },
  bug("a late grant is kept", CLIENT, "if (leader === undefined) releaseUnwanted(operation, result);", ""),
  {
    name: "a late answer ends its own run",
    patches: [
      // As it stands a claim is given up together with its last send; then no answer comes twice.
      { file: CLIENT, find: "clock.monotonicMs() + sendMs", replace: "clock.monotonicMs() + 9 * sendMs" },
      {
        file: CLIENT,
        find: 'if (ask.state === "answered") return;',
        replace: 'if (ask.state === "answered") return releaseUnwanted(ask.operation, result);',
      },
    ],
  },
  bug("an extension counts from its answer", HEARTBEAT, "sentMs + settings.trustMs", "now() + settings.trustMs"),
  bug("trust has no margin", "core/settings.ts", "Math.min(Math.max(leaseMs / 10, 250), leaseMs / 2)", "0"),
  bug(
    "trust ignores the wall clock",
    "core/clock.ts",
    "Math.max(nowMs, byWallMs, byMonotonicMs)",
    "Math.max(nowMs, byMonotonicMs)",
  ),
  bug("the signal of a lost claim does not abort", HELD_CLAIM, "this.#controller?.abort(error)", ""),
  bug("everyone who folded gets the grant", CLIENT, "if (caller === leader)", "if (leader !== undefined)"),
  bug("a live claim is forgotten without force", MEMORY, "isLive(entry.record, nowMs) && !force", "false"),
];

const RECORDS: readonly PlantedBug[] = [
  bug(
    "a function that was stopped fails under hold",
    RUN,
    'onAbandoned === "hold" && (leaderLeft || !claim.trusted)',
    'onAbandoned === "hold" && false',
  ),
  bug("a decision hits another token", DECISIONS, "current.token !== resolution.token", "false"),
  bug("a decision hits another status", DECISIONS, "current.status !== resolution.seenStatus", "false"),
  bug(
    "a settlement revives what was forgotten",
    TRANSITIONS,
    "isAbsent(record, nowMs) || record.token !== settlement",
    "record === undefined || record.token !== settlement",
  ),
  bug("hold is ignored", TRANSITIONS, 'record.onAbandoned === "hold" || request.onAbandoned === "hold"', "false"),
  bug(
    "the policy of the abandoned claim is ignored",
    TRANSITIONS,
    'record.onAbandoned === "hold" || request',
    "request",
  ),
  bug("a fingerprint is overwritten", TRANSITIONS, "past?.fingerprint ?? request.fingerprint", "request.fingerprint"),
  bug("a claim that failed is granted again", TRANSITIONS, 'record.status === "failed" && !record.final', "false"),
  bug(
    "a takeover drops the steps",
    MEMORY,
    "if (decision.write !== undefined) entry",
    'if (decision.result.kind === "granted" && decision.write !== undefined && entry) entry.steps = undefined;\n    if (decision.write !== undefined) entry',
  ),
  bug(
    "a takeover keeps the token",
    TRANSITIONS,
    "running(request, nextToken(), nowMs, record)",
    "running(request, record.token, nowMs, record)",
  ),
  bug("a takeover ignores maxAttempts", TRANSITIONS, "record.runs >= request.maxAttempts", "false"),
  bug(
    "a record is gone before its retention is over",
    TRANSITIONS,
    "record.expiresAtMs <= nowMs",
    "record.expiresAtMs <= nowMs + 1000",
  ),
];

const COUNTS: readonly PlantedBug[] = [
  bug("a joiner is counted twice", HELD_CLAIM, "if (!counted) this.#joiners", "this.#joiners"),
  bug("arrivals are lost", RUN, "metadata, arrivals: claim.arrivals", "metadata, arrivals: 0"),
  bug(
    "a mismatch is counted",
    TRANSITIONS,
    'return { result: { kind: "mismatch" } }',
    'return { result: { kind: "mismatch" }, write: counted(record, request.arrivals, nowMs) }',
  ),
  bug(
    "a release lowers runs twice",
    TRANSITIONS,
    "if (!open) return isSame",
    'if (!open && settlement.kind === "release" && isSame(record, settlement)) return { result: settled(record), write: { ...record, runs: record.runs - 1 } };\n  if (!open) return isSame',
  ),
  bug("a claim that was sent takes more callers", CLIENT, "if (gathering.get(ask.operation.id) === ask)", "if (false)"),
];

const ENDINGS: readonly PlantedBug[] = [
  bug(
    "a settlement is sent again as another",
    CLIENT,
    "const sendAgain = async (error: unknown) => {",
    'const sendAgain = async (error: unknown) => {\n        if (item.kind === "complete") Object.assign(sent, { item: { ...item, kind: "release" } });',
  ),
  bug(
    "a joiner is served a failure that the store refused",
    RUN,
    '  claim.end({ kind: "anew", counted: false });\n  if (answer.kind === "unanswered") return',
    '  claim.end({ kind: "error", error });\n  if (answer.kind === "unanswered") return',
  ),
  bug(
    "a step goes on before it is recorded",
    "core/steps.ts",
    "await record(name, value)",
    "void record(name, value).catch(() => {})",
  ),
  bug("a batch without an answer is never given up", GROUP_COMMIT, "if (!watching) watch(timeoutMs)", ""),
  bug("a lost reply counts as a lost claim", CLIENT, 'kind: unanswered ? "unknown" : "lost"', 'kind: "lost"'),
];

export const PLANTED_BUGS: readonly PlantedBug[] = [...KINDS, ...TRUST, ...RECORDS, ...COUNTS, ...ENDINGS];
