/** The objects that the stub has. */
export const objectNames = ['contacts', 'deals', 'leads', 'notes'] as const;

/** The name of an object in paths. */
export type ObjectName = (typeof objectNames)[number];

/** What the API needs to know of an object beside its properties. */
export interface ObjectType {
  readonly name: ObjectName;
  /** The id of the type, which the API accepts in paths and prints in messages: `0-1`. */
  readonly typeId: string;
  /** The name of one record, in messages: `CONTACT`. */
  readonly singular: string;
  /** The properties without which no record is created. */
  readonly required: readonly string[];
  /** The object whose scopes cover this one. */
  readonly scopesOf: ObjectName;
}

/** Every object, by name. */
export const objectTypes: Readonly<Record<ObjectName, ObjectType>> = {
  contacts: { name: 'contacts', typeId: '0-1', singular: 'CONTACT', required: [], scopesOf: 'contacts' },
  deals: {
    name: 'deals',
    typeId: '0-3',
    singular: 'DEAL',
    required: ['dealname', 'dealstage'],
    scopesOf: 'deals',
  },
  leads: {
    name: 'leads',
    typeId: '0-136',
    singular: 'LEAD',
    required: ['hs_lead_name'],
    scopesOf: 'leads',
  },
  notes: {
    name: 'notes',
    typeId: '0-46',
    singular: 'NOTE',
    required: ['hs_timestamp'],
    scopesOf: 'contacts',
  },
};

const byAnyName = new Map(
  Object.values(objectTypes).flatMap((type) =>
    [type.name, type.typeId, type.singular.toLowerCase()].map((name) => [name, type] as const),
  ),
);

/** Returns the object that a path names by its plural, its singular or its type id. */
export function findObjectType(name: string): ObjectType | undefined {
  return byAnyName.get(name.toLowerCase());
}
