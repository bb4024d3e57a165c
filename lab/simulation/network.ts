import type { Scheduler } from "fast-check";
import type { HapaxError } from "../../packages/hapax/src/index.js";
import type { Host } from "./observer/executions.js";
import { type Fate, type Plan, PROMPT } from "./plan.js";
import type { WorldTime } from "./process-clock.js";
import type { Timeline } from "./timeline.js";

/** Who sends and receives. */
export interface Peer extends Host {
  /** What it sent before it died does not arrive either. */
  readonly losesMessages: boolean;
  readonly standing: boolean;
  /** Neither hears the store nor, if cut off both ways, reaches it. */
  readonly cut: "replies" | "both" | undefined;
  /** What reaches it while it stands still, for later. */
  readonly inbox: (() => void)[];
}

export interface Request<Answer> {
  readonly from: Peer;
  readonly what: string;
  readonly apply: () => Promise<Answer>;
  readonly shown: (answer: Answer) => string;
}

/** Carries every request and every reply. Fast-check's scheduler picks which of those on their way arrives next. */
export interface Network {
  request<Answer>(request: Request<Answer>): Promise<Answer>;
  /** A message that nobody answers, from the store. */
  push(to: Peer, what: string, arrive: () => void): void;
  /** What waited for a process that stood still is on its way again. */
  resend(to: Peer): void;
  /** Lets one message arrive; false if none is on its way. */
  deliverOne(): Promise<boolean>;
  /** In true time: when the next message must arrive or leaves its delay behind. */
  nextDueMs(): number;
  /** Does what is due by now. */
  deliverDue(): Promise<void>;
  /** From now on everything arrives, and soon. */
  heal(): void;
}

interface Delayed {
  readonly atMs: number;
  readonly go: () => void;
}

const HEALED_PROMPT_MS = 30;

export interface NetworkOptions {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly time: WorldTime;
  readonly timeline: Timeline;
  readonly HapaxErrorClass: typeof HapaxError;
}

export function createNetwork({ plan, scheduler, time, timeline, HapaxErrorClass }: NetworkOptions): Network {
  const delayed = new Set<Delayed>();
  /** On their way, oldest first. */
  const onTheirWay = new Map<number, number>();
  let promptMs = plan.promptMs;
  let healed = false;
  let sent = 0;
  let messages = 0;

  function nextFate(): Fate {
    const fate = healed ? undefined : plan.fates[sent];
    sent += 1;
    return fate ?? PROMPT;
  }

  function later(delayMs: number, what: string, arrive: () => void): void {
    if (delayMs <= 0) return enqueue(what, arrive);
    delayed.add({ atMs: time.nowMs + delayMs, go: () => enqueue(what, arrive) });
  }

  function enqueue(what: string, arrive: () => void): void {
    const number = ++messages;
    onTheirWay.set(number, time.nowMs);
    void scheduler.schedule(Promise.resolve(), what).then(() => {
      onTheirWay.delete(number);
      arrive();
    });
  }

  const isCut = ({ cut }: Peer) => (healed ? undefined : cut);

  function receive(to: Peer, what: string, arrive: () => void): void {
    if (!to.alive || isCut(to) !== undefined) return;
    if (to.standing) {
      to.inbox.push(() => enqueue(what, () => receive(to, what, arrive)));
      return;
    }
    arrive();
  }

  function errorOf({ oddError }: Fate): Error {
    return oddError ? new Error("connection reset") : new HapaxErrorClass("store-unavailable", "connection reset");
  }

  function request<Answer>({ from, what, apply, shown }: Request<Answer>): Promise<Answer> {
    const fate = nextFate();
    const number = sent;
    const about = `#${number} ${what}`;
    timeline.add(from.name, `sends ${about}${shownFate(fate)}`);
    if (isCut(from) === "both") return new Promise(() => {});
    return new Promise((resolve, reject) => {
      const fail = (why: string) =>
        receive(from, about, () => {
          timeline.add(from.name, `hears an error for #${number}: ${why}`);
          reject(errorOf(fate));
        });
      const answerArrives = (answer: Answer) => () =>
        receive(from, about, () => {
          timeline.add(from.name, `hears #${number}: ${shown(answer)}`);
          resolve(answer);
        });
      const applyAt = async (copy: boolean) => {
        if (!from.alive && from.losesMessages) return;
        const answer = await apply();
        timeline.add("store", `applies ${copy ? "a copy of " : ""}${about}: ${shown(answer)}`);
        if (copy || fate.reply === "lost") return;
        later(
          fate.replyDelayMs,
          about,
          fate.reply === "broken" ? () => fail("after the write") : answerArrives(answer),
        );
      };
      if (fate.request === "refused") later(fate.requestDelayMs, about, () => fail("refused"));
      if (fate.request === "arrives") later(fate.requestDelayMs, about, () => void applyAt(false));
      if (fate.copyAfterMs !== undefined) {
        later(fate.requestDelayMs + fate.copyAfterMs, `copy of ${about}`, () => void applyAt(true));
      }
    });
  }

  return {
    request,
    push(to, what, arrive) {
      const fate = nextFate();
      if (fate.request === "lost" || fate.reply === "lost") return;
      later(fate.replyDelayMs, what, () => receive(to, what, arrive));
    },
    resend(to) {
      for (const again of to.inbox.splice(0)) again();
    },
    async deliverOne() {
      if (scheduler.count() === 0) return false;
      await scheduler.waitNext(1);
      return true;
    },
    nextDueMs() {
      let next = Number.POSITIVE_INFINITY;
      for (const { atMs } of delayed) next = Math.min(next, atMs);
      for (const sinceMs of onTheirWay.values()) return Math.min(next, sinceMs + promptMs);
      return next;
    },
    async deliverDue() {
      for (const each of delayed) {
        if (each.atMs > time.nowMs) continue;
        delayed.delete(each);
        each.go();
      }
      for (const sinceMs of onTheirWay.values()) {
        if (sinceMs + promptMs <= time.nowMs) await scheduler.waitNext(1);
        return;
      }
    },
    heal() {
      healed = true;
      promptMs = HEALED_PROMPT_MS;
    },
  };
}

function shownFate({ request, reply, requestDelayMs, replyDelayMs, copyAfterMs }: Fate): string {
  const fate = [
    request === "arrives" ? "" : `request ${request}`,
    reply === "arrives" ? "" : `reply ${reply}`,
    requestDelayMs === 0 ? "" : `request ${requestDelayMs} ms late`,
    replyDelayMs === 0 ? "" : `reply ${replyDelayMs} ms late`,
    copyAfterMs === undefined ? "" : `a copy ${copyAfterMs} ms later`,
  ].filter((part) => part !== "");
  return fate.length === 0 ? "" : ` [${fate.join(", ")}]`;
}
