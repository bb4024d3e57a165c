export { type ConformanceCase, storeConformance } from "./conformance/store-conformance.js";
export type { StoreUnderTest } from "./conformance/trial.js";
export { type ManualClock, manualClock } from "./manual-clock.js";
