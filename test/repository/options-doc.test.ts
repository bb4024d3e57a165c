import { describe, expect, it } from "vitest";
import { BEHAVIOUR_NAMES, parseBehaviour } from "../../packages/hapax/src/core/settings.js";
import { readText, tableRows } from "./repository-files.js";

describe("the table of options in docs/guide.md", () => {
  const page = readText("docs/guide.md");
  const rows = tableRows(page.slice(page.indexOf("## Options")), "option", "default");

  it("lists exactly the options that there are", () => {
    expect(rows.map(([name]) => name)).toEqual([...BEHAVIOUR_NAMES]);
  });

  it("has their defaults", () => {
    const inPage = new Map(rows.map(([name = "", value = ""]) => [name, value]));
    const inCode = parseBehaviour({}, undefined);
    expect(inPage.get("lease")).toBe(`${inCode.leaseMs / 1_000} s`);
    expect(inCode.heartbeatMs).toBe(inCode.leaseMs / 3);
    expect(inPage.get("retention")).toBe(`${inCode.retentionMs / 3_600_000} h`);
    expect(inPage.get("wait")).toBe(`${inCode.waitMs / 1_000} s`);
    for (const name of ["onBusy", "onAbandoned", "onStoreDown", "storeResult"] as const) {
      expect(inPage.get(name), name).toBe(JSON.stringify(inCode[name]));
    }
    expect([inCode.timeoutMs, inCode.maxAttempts, inCode.reconcile]).toEqual([undefined, undefined, undefined]);
  });
});
