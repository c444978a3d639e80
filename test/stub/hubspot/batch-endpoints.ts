import { z } from 'zod';
import type { Account } from './account.ts';
import { ApiError, invalid, notFound } from './api-error.ts';
import { type ApiAnswer, batchOf, checkSize, parseBody, propertyValues } from './api-request.ts';
import { findRecord } from './find-record.ts';
import { type ObjectName, objectTypes } from './object-types.ts';
import { printRecord } from './print-record.ts';
import type { StoredRecord } from './records.ts';
import { normalised, type Write, Writes } from './writes.ts';

/** Maximum number of inputs of a batch of records. */
const MAX_INPUTS = 100;

/** The form of the links that a new record asks for. */
export const wantedAssociations = z.array(
  z.strictObject({
    to: z.strictObject({ id: z.string() }),
    types: z.array(
      z.strictObject({
        associationCategory: z.enum(['HUBSPOT_DEFINED', 'USER_DEFINED', 'INTEGRATOR_DEFINED']),
        associationTypeId: z.int(),
      }),
    ),
  }),
);

const traced = { objectWriteTraceId: z.string().optional() };
const creation = z.strictObject({
  properties: propertyValues,
  associations: wantedAssociations.optional(),
  ...traced,
});
const change = z.strictObject({
  id: z.string().min(1),
  idProperty: z.string().optional(),
  properties: propertyValues,
  ...traced,
});
const creations = batchOf(creation);
const changes = batchOf(change);
const reading = z.strictObject({
  inputs: z.array(z.strictObject({ id: z.string().min(1) })),
  idProperty: z.string().optional(),
  properties: z.array(z.string()).optional(),
  propertiesWithHistory: z.array(z.string()).optional(),
});

/** `POST …/batch/create` */
export function batchCreate(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const { inputs } = parseBody(creations, body);
  checkSize(inputs, MAX_INPUTS);
  const writes = new Writes(account, object);
  return writeBatch(account, writes, inputs, 201, (input) =>
    writes.create(input.properties, input.associations),
  );
}

/** `POST …/batch/update`. An id that does not exist is an error of its input, traced or not. */
export function batchUpdate(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const { inputs } = parseBody(changes, body);
  checkBatch(account, object, inputs);
  if (inputs.some(({ idProperty }) => idProperty === 'email')) throw notUnique(object, 'email'); // an update takes record ids and custom unique properties only
  const writes = new Writes(account, object);
  return writeBatch(account, writes, inputs, 200, ({ id, idProperty, properties }) => {
    const record = findRecord(account, object, id, idProperty);
    if (!record) throw notFound(objectTypes[object].singular, [id]);
    const write = writes.update(record, properties);
    const isHidden = !account.open.updateNamesMerged && account.records[object].wasMerged(id);
    return isHidden ? { ...write, isHidden } : write;
  });
}

/** `POST …/batch/upsert` */
export function batchUpsert(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const { inputs } = parseBody(changes, body);
  checkBatch(account, object, inputs);
  const writes = new Writes(account, object);
  const { upsertFindsSecondaryEmail, upsertByEmailKeepsOmitted } = account.open;
  const answer = (input: z.output<typeof change>): Write => {
    const { id, idProperty, properties } = input;
    const record = findRecord(account, object, id, idProperty, upsertFindsSecondaryEmail);
    if (record)
      return writes.update(record, properties, idProperty === 'email' && !upsertByEmailKeepsOmitted);
    if (idProperty === undefined) throw notFound(objectTypes[object].singular, [id]);
    return writes.create({ [idProperty]: id, ...properties });
  };
  return writeBatch(account, writes, inputs, 200, answer, (record, { isNew }) => ({
    ...printRecord(record),
    new: isNew,
  }));
}

/** `POST …/batch/read` */
export function batchRead(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const { inputs, idProperty, properties } = parseBody(reading, body);
  checkSize(inputs, MAX_INPUTS);
  checkUnrepeated(inputs.map(({ id }) => normalised(idProperty ?? '', id)));
  if (idProperty !== 'hs_additional_emails') checkIdProperty(account, object, idProperty);
  const startedAt = account.clock.now();
  const found: StoredRecord[] = [];
  const missing: string[] = [];
  for (const { id } of inputs) {
    const record = findRecord(account, object, id, idProperty, account.open.readFindsSecondaryEmail);
    if (record) found.push(record);
    else missing.push(id);
  }
  const errors =
    missing.length === 0 ? [] : [notFound(objectTypes[object].singular, missing).entry(undefined)];
  const results = inOrder(account, found).map((record) => printRecord(record, properties ?? []));
  return batchAnswer(account, startedAt, 200, results, errors);
}

/** `POST …/batch/archive` */
export function batchArchive(account: Account, object: ObjectName, body: unknown): ApiAnswer {
  const { inputs } = parseBody(reading, body);
  checkSize(inputs, MAX_INPUTS);
  for (const { id } of inputs) account.delete(object, id);
  return { status: 204 };
}

/** Returns a batch's answer: 207 as soon as it has an error. */
export function batchAnswer(
  account: Account,
  startedAt: Date,
  status: number,
  results: readonly object[],
  errors: readonly object[],
): ApiAnswer {
  const times = { startedAt, completedAt: account.clock.now() };
  if (errors.length === 0) return { status, body: { status: 'COMPLETE', results, ...times } };
  const numErrors = errors.length;
  return { status: 207, body: { status: 'COMPLETE', results, numErrors, errors, ...times } };
}

interface TracedInput {
  readonly objectWriteTraceId?: string | undefined;
}

/**
 * Checks every input, then stores those that passed. A fault fails the whole request and nothing is stored,
 * unless each input has a trace id of its own: then each has a fate of its own.
 */
function writeBatch<Input extends TracedInput>(
  account: Account,
  writes: Writes,
  inputs: readonly Input[],
  status: number,
  check: (input: Input) => Write & { readonly isHidden?: boolean },
  print: (record: StoredRecord, write: Write) => object = (record) => printRecord(record),
): ApiAnswer {
  const startedAt = account.clock.now();
  const traceIds = inputs.map(({ objectWriteTraceId }) => objectWriteTraceId);
  const isTraced = !traceIds.includes(undefined) && new Set(traceIds).size === inputs.length;
  const passed: { write: ReturnType<typeof check>; traceId: string | undefined }[] = [];
  const errors: object[] = [];
  for (const input of inputs) {
    const traceId = input.objectWriteTraceId;
    try {
      passed.push({ write: check(input), traceId });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (!isTraced && error.status !== 404) throw error;
      errors.push(error.entry(account.open.tracedResults ? traceId : undefined));
    }
  }
  checkUnrepeated(passed.map(({ write }) => write.id));
  const results = passed.flatMap(({ write, traceId }) => {
    const printed = print(writes.store(write), write);
    if (write.isHidden) return [];
    return account.open.tracedResults && traceId !== undefined
      ? [{ ...printed, objectWriteTraceId: traceId }]
      : [printed];
  });
  return batchAnswer(account, startedAt, status, inOrder(account, results), errors);
}

function inOrder<Result>(account: Account, results: Result[]): Result[] {
  return account.open.resultOrder === 'reversed' ? results.reverse() : results;
}

function checkBatch(
  account: Account,
  object: ObjectName,
  inputs: readonly { readonly id: string; readonly idProperty?: string | undefined }[],
): void {
  checkSize(inputs, MAX_INPUTS);
  checkUnrepeated(inputs.map(({ id, idProperty }) => normalised(idProperty ?? '', id)));
  for (const { idProperty } of inputs) checkIdProperty(account, object, idProperty);
}

function checkUnrepeated(ids: readonly string[]): void {
  const seen = new Set<string>();
  const repeated = ids.filter((id) => seen.size === seen.add(id).size);
  if (repeated.length > 0)
    throw invalid(
      `Duplicate IDs found in batch input: [${[...new Set(repeated)].join(', ')}]. IDs must be unique`,
      { context: { ids: [...new Set(repeated)] } },
    );
}

function checkIdProperty(account: Account, object: ObjectName, idProperty: string | undefined): void {
  if (idProperty === undefined) return;
  if (!account.properties[object].find(idProperty)?.hasUniqueValue) throw notUnique(object, idProperty);
}

function notUnique(object: ObjectName, property: string): ApiError {
  return invalid(
    `Unable to perform update/upsert by non-unique ${objectTypes[object].typeId} property ${property}`,
  );
}
