import { timesHappened } from "../outside-world.js";
import { startWorker } from "../processes.js";

export interface Payment {
  readonly id: string;
  readonly amountCents: number;
  readonly currency: string;
}

export const PAYMENT: Payment = { id: "payment-7f3a", amountCents: 4_990, currency: "EUR" };

export interface StormReport {
  readonly processes: number;
  readonly deliveries: number;
  readonly charges: number;
  /** Calls that ran the charge themselves; all others got the stored receipt. */
  readonly ran: number;
  readonly answered: number;
  readonly differentReceipts: number;
  readonly elapsedMs: number;
}

/** The same payment, delivered a thousand times at once by several processes. */
export async function duplicateStorm(folder: string): Promise<StormReport> {
  const processes = 4;
  const each = 250;
  const workers = await Promise.all(
    Array.from({ length: processes }, () =>
      startWorker("deliver-payment", folder, String(each), JSON.stringify(PAYMENT)),
    ),
  );

  const startMs = performance.now();
  for (const worker of workers) worker.start();
  const delivered = await Promise.all(workers.map((worker) => worker.hear("delivered")));
  const elapsedMs = performance.now() - startMs;

  const receipts = delivered.flatMap((message) => message.receipts);
  return {
    processes,
    deliveries: processes * each,
    charges: timesHappened(folder, `charge ${PAYMENT.id}`),
    ran: delivered.reduce((sum, { ran }) => sum + ran, 0),
    answered: receipts.length,
    differentReceipts: new Set(receipts).size,
    elapsedMs,
  };
}
