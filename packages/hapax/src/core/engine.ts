import type { Clock } from "./clock.js";
import type { Codec } from "./codec.js";
import type { Events } from "./events.js";
import type { Heartbeat } from "./heartbeat.js";
import type { HeldClaim } from "./held-claim.js";
import type { Logger } from "./logger.js";
import type { Settings } from "./settings.js";
import type { RecordStore } from "./store.js";
import type { StoreClient } from "./store-client.js";

/** What one hapax shares between its calls. */
export interface Engine {
  readonly store: RecordStore;
  readonly client: StoreClient;
  readonly clock: Clock;
  /** Trust time: see `trustTime`. */
  readonly now: () => number;
  readonly settings: Settings;
  readonly codec: Codec;
  readonly resultBytesMax: number;
  readonly events: Events;
  readonly logger: Logger;
  readonly heartbeat: Heartbeat;
  /** The claims that this process runs, by operation. */
  readonly executions: Map<string, HeldClaim>;
  /** How a call is told that its function ran past its timeout. */
  readonly timeouts: Map<HeldClaim, (error: unknown) => void>;
}
