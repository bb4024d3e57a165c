import type { ClaimRequest, ClaimResult, RecordId, Settlement, Store } from "../../packages/hapax/src/index.js";
import type { Network, Peer } from "./network.js";
import type { Observer } from "./observer/observer.js";

export interface RemoteStoreOptions {
  readonly from: Peer;
  readonly network: Network;
  readonly store: Store;
  readonly observer: Observer;
  readonly push: boolean;
  /** Who listens for pushes, over all processes. */
  readonly subscriptions: Set<Subscription>;
}

export interface Subscription {
  readonly host: Peer;
}

/** The store as a process has it: behind the network. */
export function remoteStore({ from, network, store, observer, push, subscriptions }: RemoteStoreOptions): Store {
  const { server } = observer;
  const kinds = (results: readonly { readonly kind: string }[]) => results.map(shownResult).join(", ");

  const remote: Store = {
    capabilities: { ...store.capabilities, shared: true, push },
    migrate: async () => {},
    async claim(given) {
      // As they are when they leave: what the sender changes afterwards does not travel.
      const requests = given.map((request) => ({ ...request }));
      const what = `claim ${requests.map(shownClaim).join(", ")}`;
      const results = await network.request({ from, what, apply: () => server.claim(requests), shown: kinds });
      for (const [index, request] of requests.entries()) {
        const result = results[index];
        if (result?.kind === "granted") observer.grantHeard(from, request, result.token);
      }
      return results;
    },
    extend(leases) {
      const what = `extend ${leases.map(({ key, token }) => `${key} token ${token}`).join(", ")}`;
      return network.request({ from, what, apply: () => server.extend(leases), shown: kinds });
    },
    settle(settlements) {
      for (const { kind, token } of settlements) if (kind === "release") observer.releaseSent(token);
      const what = `settle ${settlements.map(shownSettlement).join(", ")}`;
      return network.request({ from, what, apply: () => server.settle(settlements), shown: kinds });
    },
    read: (id) =>
      ask(
        `read ${id.key}`,
        () => server.read(id),
        (record) => record?.status ?? "absent",
      ),
    list: (query) =>
      ask(
        "list",
        () => server.list(query),
        ({ records }) => `${records.length} records`,
      ),
    forget(request) {
      const what = `forget ${request.key}${request.force ? " by force" : ""}`;
      return ask(
        what,
        () => server.forget(request),
        ({ forgotten }) => `${forgotten} forgotten`,
      );
    },
    resolve(resolution) {
      const what = `resolve ${resolution.key} token ${resolution.token} to ${resolution.to.status}`;
      return ask(
        what,
        () => server.resolve(resolution),
        ({ kind }) => kind,
      );
    },
    purge: (limit) =>
      ask(
        "purge",
        () => server.purge(limit),
        ({ purged }) => `${purged} purged`,
      ),
  };
  return push ? { ...remote, watch } : remote;

  function ask<Answer>(what: string, apply: () => Promise<Answer>, shown: (answer: Answer) => string): Promise<Answer> {
    return network.request({ from, what, apply, shown });
  }

  function watch(id: RecordId, wake: () => void): () => void {
    const subscription = { host: from };
    subscriptions.add(subscription);
    const unwatch = store.watch?.(id, () => {
      network.push(from, `push ${id.key}`, () => {
        if (subscriptions.has(subscription)) wake();
      });
    });
    return () => {
      subscriptions.delete(subscription);
      unwatch?.();
    };
  }
}

function shownClaim({ key, claimId, arrivals, fingerprint, onAbandoned }: ClaimRequest): string {
  const by = `claim ${claimId.slice(claimId.lastIndexOf("-") + 1)}`;
  return `${key} (${by}, ${arrivals} arrived${fingerprint === undefined ? "" : `, ${fingerprint}`}, ${onAbandoned})`;
}

function shownSettlement({ kind, key, token }: Settlement): string {
  return `${kind} ${key} token ${token}`;
}

function shownResult(result: { readonly kind: string } | ClaimResult): string {
  return "token" in result && result.kind === "granted" ? `granted token ${result.token}` : result.kind;
}
