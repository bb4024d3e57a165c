export { type ConformanceCase, storeConformance } from "./conformance/store-conformance.js";
export type { StoreUnderTest } from "./conformance/trial.js";
export { type Fault, type FaultyStore, faultyStore, type StoreCall, type StoreOperation } from "./faulty-store.js";
export { type ManualClock, manualClock } from "./manual-clock.js";
