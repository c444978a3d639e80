import { type Answer, failed, type RecordError, recordError } from './answer.ts';
import { maintenancePage, proxyPage } from './faults.ts';

/** What an answer means for a lead, as long as the options of the sink are the default ones. */
export type Meaning = 'delivered' | 'refused' | 'unavailable';

/** A request that failed as a whole, and what that means for each lead in it. */
export interface RequestRow {
  readonly name: string;
  readonly meaning: Meaning;
  readonly answer: Answer;
}

/** A record that failed in an answer with status 200, and what that means for its lead. */
export interface RecordRow {
  readonly name: string;
  readonly meaning: Meaning;
  readonly errors: readonly RecordError[];
}

const LEAD = '00Q5g0000000042EAA';

/** Answers to requests for an access token that gave none. */
const tokenAnswers: readonly RequestRow[] = [
  tokenRow('client id that does not exist', 400, 'invalid_client_id', 'client identifier invalid'),
  tokenRow('wrong client secret', 401, 'invalid_client', 'invalid client credentials'),
  tokenRow('no user to run as', 400, 'invalid_grant', 'no client credentials user enabled'),
  tokenRow('login.salesforce.com', 400, 'invalid_grant', 'request not supported on this domain'),
  tokenRow('flow that is off', 400, 'unsupported_grant_type', 'grant type not supported'),
  { name: 'maintenance page', meaning: 'unavailable', answer: maintenancePage },
  { name: 'page of a proxy', meaning: 'unavailable', answer: proxyPage },
];

/** Answers to a request to sObject Collections that failed as a whole. */
const requestAnswers: readonly RequestRow[] = [
  {
    name: 'several records have the key',
    meaning: 'unavailable',
    answer: {
      status: 300,
      body: [
        `/services/data/v67.0/sobjects/Lead/${LEAD}`,
        '/services/data/v67.0/sobjects/Lead/00Q5g0000000043EAA',
      ],
    },
  },
  requestRow(400, 'INVALID_FIELD', "No such column 'Leadsync_Key__c' on sobject of type Lead"),
  requestRow(400, 'INVALID_TYPE', "sObject type 'Lead' is not supported."),
  requestRow(
    400,
    'JSON_PARSER_ERROR',
    'The HTTP entity body is required, but this request has no entity body.',
  ),
  requestRow(
    400,
    'EXCEEDED_ID_LIMIT',
    'record limit reached. cannot submit more than 200 records in this operation',
  ),
  requestRow(401, 'INVALID_SESSION_ID', 'Session expired or invalid'),
  requestRow(401, 'INVALID_AUTH_HEADER', 'INVALID_HEADER_TYPE'),
  requestRow(403, 'REQUEST_LIMIT_EXCEEDED', 'TotalRequests Limit exceeded.'),
  requestRow(403, 'REQUEST_LIMIT_EXCEEDED', 'ConcurrentPerOrgLongTxn Limit exceeded.'),
  requestRow(403, 'API_DISABLED_FOR_ORG', 'The REST API is not enabled for this Organization.'),
  requestRow(403, 'INSUFFICIENT_ACCESS', 'insufficient access rights on object'),
  requestRow(
    404,
    'NOT_FOUND',
    'Provided external ID field does not exist or is not accessible: Leadsync_Key__c',
  ),
  requestRow(404, 'NOT_FOUND', 'The requested resource does not exist'),
  requestRow(405, 'METHOD_NOT_ALLOWED', "HTTP Method 'PATCH' not allowed. Allowed are HEAD, GET, POST"),
  requestRow(410, 'GONE', 'REST API version v30.0 has been retired.'),
  requestRow(
    500,
    'UNKNOWN_EXCEPTION',
    'An unexpected error occurred. Please include this ErrorId if you contact support: 1234567890-12345 (123456789)',
  ),
  requestRow(503, 'SERVER_UNAVAILABLE', 'Server unavailable.'),
  { name: 'maintenance page', meaning: 'unavailable', answer: maintenancePage },
  { name: 'page of a proxy', meaning: 'unavailable', answer: proxyPage },
  { name: 'empty body', meaning: 'unavailable', answer: { status: 200, body: '' } },
  { name: 'no results', meaning: 'unavailable', answer: { status: 200, body: [] } },
  { name: 'results that are no list', meaning: 'unavailable', answer: { status: 200, body: {} } },
];

/** Errors of a record in an answer of sObject Collections with status 200. */
const recordErrors: readonly RecordRow[] = [
  recordRow('refused', 'REQUIRED_FIELD_MISSING', 'Required fields are missing: [LastName]', ['LastName']),
  recordRow('refused', 'STRING_TOO_LONG', 'Company: data value too large: … (max length=255)', ['Company']),
  recordRow('refused', 'INVALID_EMAIL_ADDRESS', 'Email: invalid email address: …', ['Email']),
  recordRow(
    'refused',
    'INVALID_OR_NULL_FOR_RESTRICTED_PICKLIST',
    'Lead Source: bad value for restricted picklist field: …',
    ['LeadSource'],
  ),
  recordRow('refused', 'FIELD_CUSTOM_VALIDATION_EXCEPTION', 'A lead must have a phone number', ['Phone']),
  recordRow(
    'refused',
    'FIELD_INTEGRITY_EXCEPTION',
    "There's a problem with this state, even though it may appear correct. Please select a state from the list of valid states.: State/Province",
    ['State'],
  ),
  recordRow(
    'refused',
    'NUMBER_OUTSIDE_VALID_RANGE',
    'Employees: value outside of valid range on numeric field: …',
    ['NumberOfEmployees'],
  ),
  recordRow(
    'refused',
    'JSON_PARSER_ERROR',
    'Cannot deserialize instance of double from VALUE_STRING value or request may be missing a required field at [line:1, column:1]',
  ),
  recordRow(
    'refused',
    'DUPLICATE_VALUE',
    `duplicate value found: Another_Key__c duplicates value on record with id: ${LEAD}`,
  ),
  recordRow('refused', 'DUPLICATES_DETECTED', 'Use one of these records?'),
  {
    name: 'DUPLICATES_DETECTED: with the records that match',
    meaning: 'refused',
    errors: [
      {
        ...recordError('DUPLICATES_DETECTED', 'Use one of these records?'),
        duplicateResult: {
          allowSave: true,
          duplicateRule: 'Standard_Lead_Duplicate_Rule',
          duplicateRuleEntityType: 'Lead',
          errorMessage: 'Use one of these records?',
          matchResults: [
            {
              entityType: 'Lead',
              errors: [],
              matchEngine: 'FuzzyMatchEngine',
              matchRecords: [
                {
                  matchConfidence: 100,
                  record: {
                    attributes: { type: 'Lead', url: `/services/data/v67.0/sobjects/Lead/${LEAD}` },
                    Id: LEAD,
                  },
                },
              ],
              rule: 'Standard_Lead_Match_Rule_v1_1',
              size: 1,
              success: true,
            },
          ],
        },
      },
    ],
  },
  recordRow('refused', 'ENTITY_IS_DELETED', 'entity is deleted'),
  recordRow(
    'refused',
    'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
    'LeadTrigger: execution of BeforeInsert caused by: System.NullPointerException: Attempt to de-reference a null object',
  ),
  recordRow(
    'refused',
    'CANNOT_EXECUTE_FLOW_TRIGGER',
    "We can't save this record because the “Lead intake” process failed.",
  ),
  recordRow('delivered', 'CANNOT_UPDATE_CONVERTED_LEAD', 'cannot reference converted lead'),
  // Another request is storing the lead at this moment: the next upsert finds it.
  recordRow(
    'unavailable',
    'DUPLICATE_VALUE',
    `duplicate value found: Leadsync_Key__c duplicates value on record with id: ${LEAD}`,
  ),
  // The key stands twice in the request.
  recordRow('unavailable', 'DUPLICATE_VALUE', 'Duplicate external id specified: main:1', ['Leadsync_Key__c']),
  recordRow('unavailable', 'DUPLICATE_EXTERNAL_ID', 'Duplicate external id specified: main:1', [
    'Leadsync_Key__c',
  ]),
  recordRow(
    'unavailable',
    'DUPLICATE_EXTERNAL_ID',
    `leadsync key: more than one record found for external id field: [${LEAD}, 00Q5g0000000043EAA]`,
    ['Leadsync_Key__c'],
  ),
  recordRow(
    'unavailable',
    'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
    'LeadTrigger: execution of AfterInsert caused by: System.DmlException: Update failed. First exception on row 0; first error: UNABLE_TO_LOCK_ROW, unable to obtain exclusive access to this record',
  ),
  recordRow(
    'unavailable',
    'CANNOT_INSERT_UPDATE_ACTIVATE_ENTITY',
    'LeadTrigger: System.LimitException: Too many SOQL queries: 101',
  ),
  recordRow('unavailable', 'UNABLE_TO_LOCK_ROW', 'unable to obtain exclusive access to this record'),
  recordRow('unavailable', 'STORAGE_LIMIT_EXCEEDED', 'storage limit exceeded'),
  recordRow(
    'unavailable',
    'INSERT_UPDATE_DELETE_NOT_ALLOWED_DURING_MAINTENANCE',
    'Inserts, updates, and deletes are not allowed during maintenance',
  ),
  recordRow(
    'unavailable',
    'REQUEST_RUNNING_TOO_LONG',
    'Your request was running for too long, and has been stopped.',
  ),
  recordRow('unavailable', 'TERRITORY_REALIGN_IN_PROGRESS', 'territory realignment in progress'),
  recordRow('unavailable', 'UNKNOWN_EXCEPTION', 'An unexpected error occurred.'),
  recordRow(
    'unavailable',
    'PROCESSING_HALTED',
    'The transaction was rolled back since another operation in the same transaction failed.',
  ),
  recordRow(
    'unavailable',
    'ALL_OR_NONE_OPERATION_ROLLED_BACK',
    'Record rolled back because not all records were valid and the request was using AllOrNone header',
  ),
  recordRow('unavailable', 'INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id'),
  recordRow(
    'unavailable',
    'INVALID_FIELD_FOR_INSERT_UPDATE',
    'Unable to create/update fields: Leadsync_Key__c. Please check the security settings of this field and verify that it is read/write for your profile or permission set.',
    ['Leadsync_Key__c'],
  ),
  recordRow('unavailable', 'INVALID_FIELD', "No such column 'Leadsync_Service__c' on sobject of type Lead"),
  recordRow('unavailable', 'INACTIVE_OWNER_OR_USER', 'operation performed with inactive user as owner', [
    'OwnerId',
  ]),
  recordRow('unavailable', 'INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id', ['OwnerId']),
  // A code that is not in the documents for sObject Collections of leads.
  recordRow('refused', 'ENTITY_IS_LOCKED', 'the entity is locked for editing'),
  { name: 'failure without an error', meaning: 'unavailable', errors: [] },
];

/** Every answer of Salesforce that means something to a sink. */
export const allTables = { token: tokenAnswers, request: requestAnswers, record: recordErrors } as const;

function tokenRow(name: string, status: number, error: string, error_description: string): RequestRow {
  return { name, meaning: 'unavailable', answer: { status, body: { error, error_description } } };
}

function requestRow(status: number, errorCode: string, message: string): RequestRow {
  return {
    name: `${status} ${errorCode}: ${message}`,
    meaning: 'unavailable',
    answer: failed(status, errorCode, message),
  };
}

function recordRow(
  meaning: Meaning,
  statusCode: string,
  message: string,
  fields: readonly string[] = [],
): RecordRow {
  return { name: `${statusCode}: ${message}`, meaning, errors: [recordError(statusCode, message, fields)] };
}
