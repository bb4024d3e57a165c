import { HapaxError } from "../errors.js";
import { type Codec, encodeWithin } from "./codec.js";
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
    if (stored !== undefined) return codec.decode(stored) as T;

    claim.assertHeld();
    const value = await fn();
    await record(name, value);
    return value;
  };

  function refuseReuse(name: string): void {
    if (used.has(name)) {
      throw new HapaxError(
        "invalid-option",
        `The step ${JSON.stringify(name)} ran already in this execution. In a loop, number its name.`,
      );
    }
    if (used.size >= STEPS_MAX) {
      throw new HapaxError("invalid-option", `An execution has at most ${STEPS_MAX} steps. Split the work.`);
    }
    used.add(name);
  }

  async function record(name: string, value: unknown): Promise<void> {
    const { scope, key } = claim.operation;
    const result = encodeWithin(
      codec,
      value,
      resultBytesMax,
      `The result of step ${name}`,
      "Return a reference to it.",
    );
    const answer = await client.settle(claim, { kind: "step", scope, key, token: claim.token, name, result });
    if (answer.kind === "settled") return;
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
