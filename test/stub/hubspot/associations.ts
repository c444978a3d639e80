import type { ObjectName } from './object-types.ts';

/** A kind of link between two objects, in one direction. */
export interface AssociationType {
  readonly from: ObjectName;
  readonly to: ObjectName;
  readonly typeId: number;
}

/** The unlabelled types between the stub's objects, by HubSpot's ids. */
const types: readonly AssociationType[] = [
  { from: 'contacts', to: 'deals', typeId: 4 },
  { from: 'deals', to: 'contacts', typeId: 3 },
  { from: 'contacts', to: 'notes', typeId: 201 },
  { from: 'notes', to: 'contacts', typeId: 202 },
  { from: 'deals', to: 'notes', typeId: 213 },
  { from: 'notes', to: 'deals', typeId: 214 },
  { from: 'leads', to: 'contacts', typeId: 578 },
  { from: 'contacts', to: 'leads', typeId: 579 },
  { from: 'leads', to: 'deals', typeId: 583 },
  { from: 'deals', to: 'leads', typeId: 584 },
  { from: 'leads', to: 'notes', typeId: 854 },
  { from: 'notes', to: 'leads', typeId: 855 },
];

const byPair = new Map(types.map((type) => [`${type.from} ${type.to}`, type]));
const byId = new Map(types.map((type) => [type.typeId, type]));

/** Returns the default type from one object to another. */
export function defaultType(from: ObjectName, to: ObjectName): AssociationType | undefined {
  return byPair.get(`${from} ${to}`);
}

/** Returns the type with this id if it starts at this object. */
export function findType(from: ObjectName, typeId: number): AssociationType | undefined {
  const type = byId.get(typeId);
  return type?.from === from ? type : undefined;
}

/** The links between records. A link exists in both directions, and twice the same link is one. */
export class Associations {
  readonly #linked = new Map<string, Set<string>>();

  /** Links two records. */
  link(from: ObjectName, fromId: string, to: ObjectName, toId: string): void {
    this.#set(from, fromId, to).add(toId);
    this.#set(to, toId, from).add(fromId);
  }

  /** Removes the link of two records. */
  unlink(from: ObjectName, fromId: string, to: ObjectName, toId: string): void {
    this.#set(from, fromId, to).delete(toId);
    this.#set(to, toId, from).delete(fromId);
  }

  /** Returns the ids of an object that are linked with a record, oldest link first. */
  of(from: ObjectName, fromId: string, to: ObjectName): readonly string[] {
    return [...(this.#linked.get(`${from} ${fromId} ${to}`) ?? [])];
  }

  /** Hands the links of a record over to another of the same object, or removes them. */
  move(object: ObjectName, id: string, to: string | undefined): void {
    for (const { from, to: other } of types.filter((type) => type.from === object))
      for (const otherId of this.of(from, id, other)) {
        this.unlink(object, id, other, otherId);
        if (to !== undefined) this.link(object, to, other, otherId);
      }
  }

  #set(from: ObjectName, fromId: string, to: ObjectName): Set<string> {
    const key = `${from} ${fromId} ${to}`;
    let linked = this.#linked.get(key);
    if (!linked) {
      linked = new Set();
      this.#linked.set(key, linked);
    }
    return linked;
  }
}
