export type { CancelTimer, Clock } from "./core/clock.js";
export { systemClock } from "./core/clock.js";
export { type Codec, jsonCodec, permanent, type StoredError } from "./core/codec.js";
export type { Context, TransactionContext } from "./core/context.js";
export type { Duration } from "./core/durations.js";
export type { HapaxOptions } from "./core/engine.js";
export { EVENT_NAMES, type EventName, type HapaxEvents, type Listener } from "./core/events.js";
export { createHapax, type Hapax, type WrapOptions } from "./core/hapax.js";
export type { Logger } from "./core/logger.js";
export type { Call, Identity } from "./core/operation.js";
export { isNewer, type Status, type StoredRecord, type Token } from "./core/record.js";
export type {
  Decision,
  ForgetOptions,
  HapaxRecord,
  ListOptions,
  RecordPage,
  ResolveTarget,
} from "./core/records.js";
export type { Outcome } from "./core/run.js";
export { type Behaviour, documents, type Reconcile, type Reconciled, type UncertainWork } from "./core/settings.js";
export type * from "./core/store.js";
export { ERRORS, type ErrorCode, type ErrorDetails, type ErrorEntry, HapaxError } from "./errors.js";
export { type CompositeKey, contentKey } from "./keys/content-key.js";
export { fileKey } from "./keys/file-key.js";
