import { describe, expect, it } from "vitest";
import * as limits from "../../packages/hapax/src/core/limits.js";
import { readText, tableRows } from "./repository-files.js";

describe("docs/limits.md", () => {
  const rows = tableRows(readText("docs/limits.md"), "limit", "value", "of what", "past it");

  it("lists exactly the limits of core/limits.ts, with their values", () => {
    const inPage = rows.map(([name = "", value = ""]) => [name, Number(value.replaceAll(",", ""))]);
    expect(Object.fromEntries(inPage)).toEqual({ ...limits });
    expect(inPage).toHaveLength(Object.keys(limits).length);
  });

  it.each(rows)("%s says of what, and what happens past it", (_name, _value, what = "", past = "") => {
    expect(what.length).toBeGreaterThan(5);
    expect(past.length).toBeGreaterThan(5);
  });
});
