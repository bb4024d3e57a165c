import { type Hapax, HapaxError } from "hapax";
import { timesHappened } from "../outside-world.js";
import { PAYMENT } from "./duplicate-storm.js";

export interface MismatchReport {
  readonly amountCents: number;
  readonly otherAmountCents: number;
  readonly code: string;
  readonly status: number;
  readonly charges: number;
}

/** The payment's key arrives once more, with another amount. */
export async function mismatch(folder: string, hapax: Pick<Hapax, "run">): Promise<MismatchReport> {
  const other = { ...PAYMENT, amountCents: 499_000 };
  const refused = await hapax
    .run({ scope: "payments", key: PAYMENT.id, payload: other }, () => "must not run")
    .catch((error: unknown) => error);
  if (!(refused instanceof HapaxError)) throw new Error("another amount under the same key was not refused");
  return {
    amountCents: PAYMENT.amountCents,
    otherAmountCents: other.amountCents,
    code: refused.code,
    status: refused.status,
    charges: timesHappened(folder, `charge ${PAYMENT.id}`),
  };
}
