/** Delivers one payment many times at the same moment, as an impatient client and a busy proxy do. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Payment } from "../acts/duplicate-storm.js";
import { happen } from "../outside-world.js";
import { startSignal, tell } from "../processes.js";
import { openShop } from "../shop.js";

const [folder = "", deliveries = "1", paymentJson = ""] = process.argv.slice(2);
const payment = JSON.parse(paymentJson) as Payment;
const hapax = await openShop(folder);
await startSignal();

const outcomes = await Promise.all(
  Array.from({ length: Number(deliveries) }, () =>
    hapax.run({ scope: "payments", key: payment.id, payload: payment }, async () => {
      happen(folder, `charge ${payment.id}`);
      await sleep(100);
      return { receipt: `R-${randomBytes(3).toString("hex")}` };
    }),
  ),
);

tell({
  kind: "delivered",
  receipts: outcomes.map(({ value }) => value.receipt),
  ran: outcomes.filter(({ replayed }) => !replayed).length,
});
await hapax.close();
process.disconnect();
