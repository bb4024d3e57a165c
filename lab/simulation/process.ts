import type { Call, Hapax, Logger, Store } from "../../packages/hapax/src/index.js";
import type { Library } from "./library.js";
import type { Network, Peer } from "./network.js";
import type { ObservedCall } from "./observer/executions.js";
import { type Observer, SCOPE } from "./observer/observer.js";
import { CallerLeft } from "./observer/outcomes.js";
import type { CallSpec, Plan, Settings } from "./plan.js";
import type { ProcessClock, WorldTime } from "./process-clock.js";
import type { Timeline } from "./timeline.js";
import { work } from "./work.js";

/** A process: a hapax of its own, on a clock of its own, that may stand still or die. */
export interface SimulatedProcess extends Peer {
  readonly clock: ProcessClock;
  readonly hapax: Hapax;
  start(spec: CallSpec, key: string): void;
  stand(ms: number, suspended: boolean): void;
  goOn(): void;
  /** In true time, when it next does something by itself: a timer fires, or it goes on. */
  nextDueMs(): number;
  doNext(): void;
  setWall(byMs: number): void;
  crash(losesMessages: boolean): void;
  cutOff(ms: number, direction: "replies" | "both"): void;
  /** It shuts down in good order. */
  close(timeoutMs: number): void;
  isClosed(): boolean;
  /** Calls that have not ended, oldest first. */
  readonly pending: ReadonlyMap<ObservedCall, AbortController | undefined>;
}

export interface ProcessOptions {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly settings: Settings;
  readonly time: WorldTime;
  readonly plan: Plan;
  readonly library: Library;
  readonly network: Network;
  readonly observer: Observer;
  readonly timeline: Timeline;
  readonly store: (peer: Peer) => Store;
}

export function createSimulatedProcess(options: ProcessOptions): SimulatedProcess {
  const { name, clock, time, plan, library, network, observer, timeline } = options;
  const inbox: (() => void)[] = [];
  const pending = new Map<ObservedCall, AbortController | undefined>();
  let alive = true;
  let losesMessages = false;
  let stoodStill = false;
  let suspendedOnce = false;
  let setBackOnce = false;
  let standsUntilMs = 0;
  let cut: Peer["cut"];
  let cutUntilMs = 0;
  let closed = false;
  const say = (what: string) => timeline.add(name, what);

  const peer: Peer = {
    name,
    inbox,
    get alive() {
      return alive;
    },
    get losesMessages() {
      return losesMessages;
    },
    get standing() {
      return clock.standing;
    },
    get stoodStill() {
      return stoodStill;
    },
    get cut() {
      return time.nowMs < cutUntilMs ? cut : undefined;
    },
  };
  const logger: Logger = { warn: (message) => say(`warns: ${message}`), error: (message) => say(`errs: ${message}`) };
  const hapax = library.createHapax({
    ...plan.defaults,
    ...options.settings,
    store: options.store(peer),
    clock,
    logger,
    owner: name,
    storeTimeout: plan.storeTimeoutMs,
    upkeep: plan.upkeepMs ?? false,
  });

  function start(spec: CallSpec, key: string): void {
    const controller = spec.leaves === "never" ? undefined : new AbortController();
    const call = observer.callBegins(peer, key, spec, controller?.signal);
    const leaving =
      typeof spec.leaves === "number" ? clock.after(spec.leaves, () => controller?.abort(new CallerLeft())) : undefined;
    pending.set(call, controller);
    say(`call ${call.number} asks for ${key} ${shownSpec(spec)}`);
    const ended = (how: string) => {
      call.endedMs = time.nowMs;
      say(`call ${call.number} ends: ${how}`);
      leaving?.();
      pending.delete(call);
    };
    const state = observer.stateOf({ scope: SCOPE, key });
    hapax
      .run(callOf(call), (ctx) => work({ observer, library, clock, timeline }, call, ctx))
      .then(
        (outcome) => {
          ended(
            `${outcome.replayed ? "replayed" : "ran"} "${String(outcome.value)}"${outcome.stored ? "" : ", not stored"}`,
          );
          observer.outcomes.value(call, state, outcome);
        },
        (error: unknown) => {
          ended(error instanceof library.HapaxError ? error.code : String(error));
          observer.outcomes.error(call, state, error);
        },
      );
  }

  function callOf({ spec, key, signal }: ObservedCall): Call {
    const { fingerprint, settings, reconciles } = spec;
    return {
      ...settings,
      scope: SCOPE,
      key,
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(signal === undefined ? {} : { signal }),
      ...(reconciles === undefined ? {} : { reconcile: ({ token }) => decision(reconciles, token) }),
    };
  }

  function goOn(): void {
    if (!alive || !clock.standing) return;
    say("goes on");
    clock.goOn();
    network.resend(peer);
  }

  return Object.assign(peer, {
    clock,
    hapax,
    pending,
    start,
    stand(ms: number, suspended: boolean) {
      if (!alive || clock.standing) return;
      stoodStill = true;
      standsUntilMs = time.nowMs + ms;
      // Suspended and set back at once, neither of its clocks would tell how long it was away.
      const suspends = suspended && !setBackOnce;
      suspendedOnce ||= suspends;
      say(`${suspends ? "is suspended" : "stalls"} for ${ms} ms`);
      clock.stand(suspends);
    },
    goOn,
    nextDueMs: () => (clock.standing ? standsUntilMs : clock.nextDueMs()),
    doNext: () => (clock.standing ? goOn() : clock.fireNext()),
    setWall(byMs: number) {
      if (!alive || (byMs < 0 && suspendedOnce)) return;
      setBackOnce ||= byMs < 0;
      say(`its wall clock is set by ${byMs} ms`);
      clock.setWall(byMs);
    },
    cutOff(ms: number, direction: "replies" | "both") {
      say(`is cut off from the store for ${ms} ms, ${direction}`);
      cut = direction;
      cutUntilMs = time.nowMs + ms;
    },
    close(timeoutMs: number) {
      say(`closes, waiting for at most ${timeoutMs} ms`);
      closed = true;
      void hapax.close({ timeout: timeoutMs }).then(() => say("is closed"));
    },
    isClosed: () => closed,
    crash(loses: boolean) {
      if (clock.standing) clock.goOn();
      say(loses ? "crashes, and what it sent is lost" : "crashes");
      alive = false;
      losesMessages = loses;
      clock.stop();
      pending.clear();
    },
  });
}

function decision(reconciles: "done" | "failed" | "undecided", token: string) {
  if (reconciles === "undecided") return undefined;
  return reconciles === "done"
    ? ({ status: "done", value: decidedValue(token) } as const)
    : ({ status: "failed" } as const);
}

/** What a person or a reconciler says that the work gave. */
export function decidedValue(token: string): string {
  return `decided for token ${token}`;
}

function shownSpec({ fingerprint, settings, reconciles, work: acts, end }: CallSpec): string {
  const does = acts.map((act) => (act.act === "effect" ? "effect" : `${act.act} ${act.ms}`)).join(", ");
  const how = [
    ...(fingerprint === undefined ? [] : [fingerprint]),
    ...Object.entries(settings).map(([name, value]) => `${name} ${String(value)}`),
    ...(reconciles === undefined ? [] : [`reconciles ${reconciles}`]),
  ].join(", ");
  return `(${how === "" ? "" : `${how}: `}${does === "" ? end : `${does}, ${end}`})`;
}
