import { checkProperty } from "./property.js";
import { realLibrary } from "./library.js";
const t = performance.now();
const seed = Number(process.argv[3] ?? Date.now() % 1e9);
const r = await checkProperty({ library: realLibrary, runs: Number(process.argv[2] ?? 500), seed, ...(process.argv[4] ? { path: process.argv[4] } : {}) });
const s = (performance.now() - t) / 1000;
console.log(r.failure?.message ?? "held", "\n", { runs: r.runs, seed: r.seed, path: r.failure?.path, perS: r.runs / s, s });
