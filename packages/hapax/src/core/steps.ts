import { HapaxError } from "../errors.js";
import { type Codec, decodeStored, encodeResult, omissionOf } from "./codec.js";
import type { HeldClaim } from "./held-claim.js";
import { STEP_NAME_BYTES_MAX, STEPS_MAX } from "./limits.js";
import { checkText } from "./operation.js";
import type { StoreClient } from "./store-client.js";

export interface StepsOptions {
  readonly claim: HeldClaim;
  readonly client: StoreClient;
  readonly codec: Codec;
  readonly resultBytesMax: number;
}

/** Runs steps of one execution, and serves those that an earlier run finished from the record. */
export function createSteps({ claim, client, codec, resultBytesMax }: StepsOptions) {
  const used = new Set<string>();

  return async function step<T>(name: string, fn: () => Promise<T> | T): Promise<T> {
    checkText("A step's name", name, STEP_NAME_BYTES_MAX, "invalid-option");
    refuseReuse(name);
    const stored = claim.steps.get(name);
    if (stored !== undefined) return served(name, stored) as T;

    claim.assertHeld();
    const value = await attempt(name, fn);
    await record(name, value);
    return value;
  };

  /** A step that threw did not run, and may be tried again in this execution. */
  async function attempt<T>(name: string, fn: () => Promise<T> | T): Promise<T> {
    try {
      return await fn();
    } catch (error) {
      used.delete(name);
      throw error;
    }
  }

  function served(name: string, stored: Uint8Array): unknown {
    const omission = omissionOf(stored);
    if (omission === undefined) return decodeStored(codec, stored, `The stored result of step ${name}`);
    throw new HapaxError(
      "result-omitted",
      `Step ${JSON.stringify(name)} ran, but its result could not be stored (${omission}). It does not run again.`,
    );
  }

  function refuseReuse(name: string): void {
    if (used.has(name)) {
      throw new HapaxError(
        "invalid-option",
        `The step ${JSON.stringify(name)} ran already in this execution. In a loop, number its name.`,
      );
    }
    if (!claim.steps.has(name) && claim.steps.size + used.size >= STEPS_MAX) {
      throw new HapaxError("invalid-option", `A record keeps at most ${STEPS_MAX} steps. Split the work.`);
    }
    used.add(name);
  }

  async function record(name: string, value: unknown): Promise<void> {
    const { scope, key } = claim.operation;
    // Its effect has happened: what cannot be stored is marked, so that no later attempt repeats it.
    const { bytes = new Uint8Array(), refusal } = encodeResult(codec, value, resultBytesMax);
    const answer = await client.settle(claim, { kind: "step", scope, key, token: claim.token, name, result: bytes });
    if (answer.kind === "settled") {
      if (refusal !== undefined) throw refusal;
      return;
    }
    if (answer.kind === "unanswered") {
      throw new HapaxError("store-unavailable", `Step ${JSON.stringify(name)} ran, and could not be recorded.`, {
        cause: answer.error,
      });
    }
    const lost = claim.lostError("its token is no longer the record's");
    claim.lose(lost);
    throw lost;
  }
}
