import type { MappedColumn, MappedType } from '../../leads/mapped-fields.ts';
import { curlCommand } from '../crm/curl-command.ts';
import type { MissingPart } from '../destination-parts.ts';
import { withoutLease } from '../http/api-server.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { fieldName, ownersOf, readFields } from './account-fields.ts';
import { calls } from './calls.ts';
import { ENQUIRIES, type FieldOwner, KEY, type PipedriveOptions, URL_FIELD } from './options.ts';
import { isFault, type Limits, type PipedriveApi } from './pipedrive-api.ts';
import { refusedBy } from './write-persons.ts';

/** A custom field to create. */
interface NewField {
  readonly name: string;
  readonly type: string;
  readonly options?: readonly { readonly label: string }[];
}

/** The field definition that leadsync needs for each type of value. */
const KINDS: Readonly<Record<MappedType, Omit<NewField, 'name'>>> = {
  text: { type: 'text' },
  json: { type: 'text' },
  bigint: { type: 'double' },
  double: { type: 'double' },
  time: { type: 'varchar' },
  boolean: { type: 'enum', options: [{ label: 'true' }, { label: 'false' }] },
};

/** The types of fields that can hold leadsync's keys. */
const TEXTS = /^(varchar|varchar_auto|text)$/;

/** Returns the custom fields that deliveries need and a company lacks. @throws SinkUnavailable */
export async function missingFields(
  api: PipedriveApi,
  object: PipedriveOptions['object'],
  { columns, limits }: { readonly columns: readonly MappedColumn[]; readonly limits: Limits },
): Promise<readonly MissingPart[]> {
  const fields = await readFields(api, object, limits);
  return ownersOf(object).flatMap((owner) => {
    const wanted: NewField[] = [
      { name: KEY, type: 'varchar' },
      ...(owner === 'person' ? [{ name: ENQUIRIES, type: 'text' }] : []),
      { name: URL_FIELD, type: 'varchar' }, // also for a `public_url` that is set later
      ...ownColumns(columns, owner),
    ];
    for (const { name } of wanted.slice(0, 2)) {
      const type = fields.get(owner, name)?.type;
      if (
        type !== undefined &&
        name.startsWith('leadsync_') &&
        wanted[0]?.name === KEY &&
        !TEXTS.test(type) &&
        [KEY, ENQUIRIES].includes(name)
      )
        throw new SinkUnavailable(
          `The field \`${fieldName(owner, name)}\` in Pipedrive has the type ${type}, which cannot hold the key of a lead.`,
          { hint: 'Rename the field in Pipedrive, and run this command again.', unsent: true },
        );
    }
    return wanted.filter(({ name }) => !fields.get(owner, name)).map((field) => partOf(api, owner, field));
  });
}

/** Returns the fields of a mapping that are leadsync's own, such as `lead.leadsync_service`. */
function ownColumns(columns: readonly MappedColumn[], owner: FieldOwner): readonly NewField[] {
  return columns.flatMap(({ name, type }) => {
    const [prefix, rest] = name.includes('.') ? name.split('.') : ['person', name];
    return prefix === owner && rest?.startsWith('leadsync_') ? [{ name: rest, ...KINDS[type] }] : [];
  });
}

function partOf(api: PipedriveApi, owner: FieldOwner, { name, type, options }: NewField): MissingPart {
  const call = owner === 'person' ? calls.makePersonField : calls.makeDealField;
  const body = { field_name: name.replaceAll('_', ' '), field_type: type, ...(options ? { options } : {}) };
  return {
    what: `field \`${name}\` of ${owner === 'person' ? 'persons' : 'leads and deals'} (${type})`,
    how: curl(`${api.addressee.origin}${call.path}`, body),
    make: async (stop) => {
      const limits = withoutLease(stop);
      const fields = await readFields(api, owner === 'person' ? 'none' : owner, limits);
      if (fields.get(owner, name)) return; // created in the meantime: Pipedrive would create a second field of this name
      const made = await api.write(call, { body }, limits);
      if (!isFault(made)) return;
      const {
        reason = '',
        httpStatus,
        answer,
      } = refusedBy(made) as { reason?: string; httpStatus?: number; answer?: string };
      throw new SinkUnavailable(reason, { hint: '', httpStatus, answer, unsent: true });
    },
  };
}

/** Returns a request as a shell command. The shell must have the token in PIPEDRIVE_TOKEN. */
function curl(address: string, body: object): string {
  return curlCommand(address, 'x-api-token: $PIPEDRIVE_TOKEN', body);
}
