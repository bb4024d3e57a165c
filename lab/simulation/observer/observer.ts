import type { RecordId, Store } from "../../../packages/hapax/src/index.js";
import type { Library } from "../library.js";
import type { CallSpec, Plan } from "../plan.js";
import type { WorldTime } from "../process-clock.js";
import { checkRecord, checkSeen } from "./counts.js";
import { createExecutions, type Executions, type Host, type ObservedCall } from "./executions.js";
import { type ObservedStore, observedStore } from "./observed-store.js";
import { createOutcomes, type Outcomes } from "./outcomes.js";
import { createRecordState, isAbsent, isNeverSettled, type RecordState } from "./record-state.js";
import type { Verdict } from "./verdict.js";

/** Sees everything from outside: what reaches the store, what functions do, what calls return. */
export interface Observer {
  /** The store, watched. */
  readonly server: ObservedStore;
  readonly executions: Executions;
  readonly outcomes: Outcomes;
  readonly calls: readonly ObservedCall[];
  stateOf(id: RecordId): RecordState;
  callBegins(host: Host, key: string, spec: CallSpec, signal: AbortSignal | undefined): ObservedCall;
  /** A grant reached the process that had asked for it. */
  grantHeard(host: Host, id: RecordId, token: string): void;
  releaseSent(token: string): void;
  /** Everything has ended: what must hold of what is left. */
  checkEnd(): Promise<void>;
}

export interface ObserverOptions {
  readonly plan: Plan;
  readonly library: Library;
  readonly store: Store;
  readonly time: WorldTime;
  readonly storeNowMs: () => number;
  readonly verdict: Verdict;
}

export const SCOPE = "simulation";

export function createObserver({ plan, library, store, time, storeNowMs, verdict }: ObserverOptions): Observer {
  const states = new Map<string, RecordState>();
  const calls: ObservedCall[] = [];
  const heard: { readonly host: Host; readonly state: RecordState; readonly token: string }[] = [];
  const released = new Set<string>();
  const tokens = { newest: 0 };

  function stateOf({ key }: RecordId): RecordState {
    const known = states.get(key);
    if (known !== undefined) return known;
    const state = createRecordState(key, verdict, time, tokens);
    states.set(key, state);
    return state;
  }

  /** A grant is run or given back; who does neither blocks the key for a whole lease. */
  function checkGrants(): void {
    for (const { host, state, token } of heard) {
      const ran = calls.some(({ execution }) => execution?.state === state && execution.token === token);
      if (!host.alive || ran || released.has(token) || !isNeverSettled(state, token)) continue;
      verdict.broken(
        "I7b",
        `${state.key}: ${host.name} heard that token ${token} is granted, and neither ran nor released it`,
      );
    }
  }

  const server = observedStore({
    store,
    nowMs: storeNowMs,
    stateOf,
    states: () => states.values(),
    reads: plan.reads,
  });

  return {
    server,
    executions: createExecutions(storeNowMs),
    outcomes: createOutcomes(plan, library.HapaxError),
    calls,
    stateOf,
    callBegins(host, key, spec, signal) {
      const state = stateOf({ scope: SCOPE, key });
      const call: ObservedCall = {
        number: calls.length + 1,
        host,
        key,
        spec,
        signal,
        generationAtStart: state.generation,
        absentAtStart: isAbsent(state, storeNowMs()),
        startedMs: time.nowMs,
        endedMs: undefined,
        execution: undefined,
        ended: undefined,
      };
      calls.push(call);
      return call;
    },
    grantHeard: (host, id, token) => heard.push({ host, state: stateOf(id), token }),
    releaseSent: (token) => released.add(token),
    async checkEnd() {
      checkGrants();
      for (const state of states.values()) {
        const record = await server.read({ scope: SCOPE, key: state.key });
        if (record === undefined) continue;
        checkRecord(state, record, storeNowMs());
        checkSeen(
          state,
          calls.filter(({ key }) => key === state.key),
          plan,
        );
      }
    },
  };
}
