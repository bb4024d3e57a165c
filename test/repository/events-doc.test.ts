import { describe, expect, it } from "vitest";
import { EVENT_NAMES } from "../../packages/hapax/src/core/events.js";
import { readText, tableRows } from "./repository-files.js";

describe("docs/events.md", () => {
  const rows = tableRows(readText("docs/events.md"), "event", "when", "carries");

  it("lists exactly the events that there are, in their order", () => {
    expect(rows.map(([name]) => name)).toEqual([...EVENT_NAMES]);
  });

  it.each(rows)("%s has a meaning", (_name, when = "", carries = "") => {
    expect(when.length).toBeGreaterThan(15);
    expect(carries).toMatch(/`scope`|the claim/);
  });

  it("names the fields that the types have", () => {
    const types = readText("packages/hapax/src/core/events.ts");
    for (const [name = "", , carries = ""] of rows) {
      const [, own = ""] = new RegExp(`readonly "?${name}"?: \\w+(?: & \\{([^}]*)\\})?;`).exec(types) ?? [];
      const inCode = [...own.matchAll(/readonly (\w+):/g)].map(([, field]) => field);
      const inPage = [...carries.matchAll(/`(\w+)`/g)]
        .map(([, field]) => field)
        .filter((field) => field !== "scope" && field !== "key");
      expect(inPage, name).toEqual(inCode);
    }
  });
});
