import type { Context } from "../../../packages/hapax/src/index.js";
import type { CallSpec } from "../plan.js";
import { broken, isLive, isNeverSettled, type RecordState, stepOf } from "./record-state.js";

/** The process of a call, as far as an observer must know it. */
export interface Host {
  readonly name: string;
  readonly alive: boolean;
  /** It was stalled or suspended once, so its timers may be late. */
  readonly stoodStill: boolean;
}

/** One call of `run`. */
export interface ObservedCall {
  readonly number: number;
  readonly host: Host;
  readonly key: string;
  readonly spec: CallSpec;
  /** The record as it stood when the call began. */
  readonly generationAtStart: number;
  readonly absentAtStart: boolean;
  /** With which its caller leaves. */
  readonly signal: AbortSignal | undefined;
  /** In true time. */
  readonly startedMs: number;
  endedMs: number | undefined;
  execution: Execution | undefined;
  /** `value`, `left`, or the code of its error. */
  ended: string | undefined;
}

/** A function that runs under a claim. */
export interface Execution {
  readonly call: ObservedCall;
  readonly state: RecordState;
  readonly ctx: Context;
  readonly token: string;
  readonly generation: number;
  /** What it returns. */
  readonly value: string;
  readonly stepsUsed: Set<string>;
  /** As the function holds it: who asks the context for it anew may be told more. */
  readonly signal: AbortSignal | undefined;
}

/** What a failing function throws. */
export class WorkError extends Error {
  readonly execution: Execution;
  constructor(execution: Execution) {
    super(`thrown by ${execution.value}`);
    this.execution = execution;
  }
}

export interface Executions {
  begin(call: ObservedCall, state: RecordState, ctx: Context): Execution;
  end(execution: Execution, threw: boolean): void;
  /** The function is about to do what cannot be undone, and `assertHeld()` has let it. */
  effect(execution: Execution): void;
  stepRuns(execution: Execution, name: string): void;
  stepReturned(execution: Execution, name: string, value: unknown, ran: boolean): void;
  /** Probes who trusts its claim at this moment. */
  probe(): void;
  /** By the store's clock, the next moment at which a running function's lease ends there; infinite if none does. */
  nextLeaseEndMs(nowMs: number): number;
}

export function createExecutions(storeNowMs: () => number): Executions {
  const running = new Set<Execution>();
  const begun: Execution[] = [];
  const acknowledged = new Map<string, unknown>();

  function begin(call: ObservedCall, state: RecordState, ctx: Context): Execution {
    const { token } = ctx;
    const granted = state.grants.get(token);
    if (granted === undefined)
      broken(state, "I3", `call ${call.number} runs under token ${token}, granted to nobody here`);
    const generation = granted?.generation ?? state.generation;
    const execution: Execution = {
      call,
      state,
      ctx,
      token,
      generation,
      value: `${call.host.name} token ${token}`,
      stepsUsed: new Set(),
      signal: call.spec.heedsSignal ? ctx.signal : undefined,
    };
    checkHold(execution);
    if (!trusts(execution)) broken(state, "I1b", `call ${call.number} starts under token ${token}, no longer trusted`);
    begun.push(execution);
    running.add(execution);
    probe();
    return execution;
  }

  /** Nobody knows what became of an earlier run that asked to be held. */
  function checkHold({ state, token, generation }: Execution): void {
    for (const earlier of begun) {
      if (earlier.state !== state || earlier.generation !== generation) continue;
      const held = state.grants.get(earlier.token)?.onAbandoned === "hold";
      if (held && isNeverSettled(state, earlier.token)) {
        broken(state, "I5", `token ${token} runs, and what token ${earlier.token} did under hold is not known`);
      }
    }
  }

  function probe(): void {
    const trusting = new Map<RecordState, Execution>();
    for (const execution of running) {
      const { state, token, call } = execution;
      // What is forgotten by force is protected by its token alone, and the dead trust nothing.
      if (!call.host.alive || state.forced.has(token)) continue;
      const live = isLive(state, token, storeNowMs());
      if (trusts(execution)) {
        const other = trusting.get(state);
        if (other !== undefined) broken(state, "I1", `tokens ${other.token} and ${token} are trusted at once`);
        if (!live) broken(state, "I1b", `token ${token} is trusted, and the store's lease on it is over`);
        trusting.set(state, execution);
      } else if (!live && !call.host.stoodStill && execution.signal?.aborted === false) {
        broken(state, "I1c", `token ${token} is lost, and its signal has not aborted`);
      }
    }
  }

  return {
    begin,
    probe,
    end(execution, threw) {
      running.delete(execution);
      const { state, token, call } = execution;
      if (threw && (call.signal?.aborted === true || !trusts(execution))) state.stopped.add(token);
    },
    effect({ state, token }) {
      if (state.forced.has(token) || isLive(state, token, storeNowMs())) return;
      broken(state, "I1b", `an effect begins under token ${token}, which is not the record's or whose lease is over`);
    },
    stepRuns({ state, generation, token }, name) {
      if (!acknowledged.has(`${state.key}/${generation}/${name}`)) return;
      broken(state, "I11", `token ${token} runs step ${name}, which was acknowledged before`);
    },
    stepReturned({ state, generation }, name, value, ran) {
      if (ran) acknowledged.set(`${state.key}/${generation}/${name}`, value);
      if (state.stepsEver.has(stepOf(generation, name, value))) return;
      broken(state, "I11", `step ${name} gave ${String(value)}, which the store did not accept`);
    },
    nextLeaseEndMs(nowMs) {
      let next = Number.POSITIVE_INFINITY;
      for (const { state, token } of running) {
        if (isLive(state, token, nowMs)) next = Math.min(next, state.leaseUntilMs);
      }
      return next;
    },
  };
}

function trusts({ ctx }: Execution): boolean {
  try {
    ctx.assertHeld();
    return true;
  } catch {
    return false;
  }
}
