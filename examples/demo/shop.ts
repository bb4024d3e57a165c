import Database from "better-sqlite3";
import { createHapax, type Hapax } from "hapax";
import { sqliteStore } from "hapax/sqlite";

/** Short, so that the demo need not wait long for a crashed worker. The default is 30 s. */
export const LEASE_MS = 1_500;

/** The shop's hapax, on the one file that all processes of the demo share. */
export async function openShop(folder: string): Promise<Hapax<Database.Database>> {
  const hapax = createHapax({ store: sqliteStore(new Database(`${folder}/shop.db`)), lease: LEASE_MS });
  await hapax.migrate();
  return hapax;
}
