/** What a test can change while the stub runs. */
export interface PipedriveSettings {
  /** Whether the user's API token was regenerated: every request gets 401. */
  tokenRevoked: boolean;
  /** Whether the company pays: without, every request gets 402. */
  accountOpen: boolean;
  /** Whether persons have `im`, `postal_address`, `notes`, `birthday` and `job_title`: without, a request with one of them gets 403. */
  contactSync: boolean;
  /** Whether the token's user may add and delete custom fields. */
  mayEditFields: boolean;
  /** Whether the token's user may delete persons, leads, deals and notes. */
  mayDelete: boolean;
  /** Number of custom fields, open deals and leads that the plan still has room for. */
  customFieldsLeft: number;
  dealsLeft: number;
  leadsLeft: number;
  /** Time until the search finds what was stored, changed or deleted, in ms. Lists are immediate. */
  searchLagMs: number;

  // Pipedrive documents none of the following: a client has to cope with each.

  /** The status of a custom field's bad value in v2. */
  invalidValueStatus: 400 | 422;
  /** Whether a text longer than its field is refused or cut. */
  tooLong: 'refuse' | 'cut';
  /** Whether a lead with a field code that does not exist is refused or stored without it. */
  unknownLeadField: 'refuse' | 'ignore';
  /** The status of a lead, deal or note for a record that does not exist. */
  missingLinkStatus: 400 | 404;
  /** The status of a deleted person or deal. With 200, reading answers with the record, which says that it is deleted. */
  deletedStatus: 200 | 404 | 410;
  /** The status of POST in v2 and of notes: the OpenAPI says 200, the list of status codes 201. Leads always get 201. */
  createdStatus: 200 | 201;
  /** Whether the search for a phone number compares its text or only its digits. */
  phoneSearch: 'text' | 'digits';
}

/** A company in good order, with the stricter of two undocumented behaviours. */
export const usualSettings: Readonly<PipedriveSettings> = {
  tokenRevoked: false,
  accountOpen: true,
  contactSync: false,
  mayEditFields: true,
  mayDelete: true,
  customFieldsLeft: Number.POSITIVE_INFINITY,
  dealsLeft: Number.POSITIVE_INFINITY,
  leadsLeft: Number.POSITIVE_INFINITY,
  searchLagMs: 0,
  invalidValueStatus: 400,
  tooLong: 'refuse',
  unknownLeadField: 'refuse',
  missingLinkStatus: 400,
  deletedStatus: 404,
  createdStatus: 200,
  phoneSearch: 'text',
};
