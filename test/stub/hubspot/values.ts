import type { PropertyFault } from './api-error.ts';
import { pipelineProperties, standardPipelines } from './pipelines.ts';
import type { Property } from './properties.ts';

/** What a value may have to agree with beyond its own property. */
export interface ValueContext {
  readonly ownerIds: ReadonlySet<string>;
  /** Whether a person's permanent deletion keeps this address out. */
  readonly isErased: (email: string) => boolean;
  /** The rule that an administrator has set on this property, if any. */
  readonly rule: ((value: string) => boolean) | undefined;
}

/** Maximum length of a text, in UTF-16 units. */
const MAX_TEXT_LENGTH = 65_536;

/** Top-level domains that stand for HubSpot's list of those that exist. */
const UNKNOWN_DOMAINS = new Set(['con', 'invalid', 'cmo']);

/**
 * Returns what is wrong with a value, or undefined. "" clears a property and is always right.
 * The codes `INVALID_OWNER_ID`, `VALUE_TOO_LONG` and `VALIDATION_RULE` are not in HubSpot's documents.
 */
export function faultOfValue(
  property: Property,
  value: string,
  context: ValueContext,
): PropertyFault | undefined {
  const fault = (error: string, message: string) => ({ name: property.name, error, message });
  if (property.readOnly)
    return fault('READ_ONLY_VALUE', `"${property.name}" is a read only property; its value cannot be set.`);
  if (value === '') return undefined;
  if (value.length > MAX_TEXT_LENGTH)
    return fault('VALUE_TOO_LONG', `The value is too long. The maximum is ${MAX_TEXT_LENGTH} characters.`);
  if (property.name === 'email' || property.name === 'hs_additional_emails') {
    const emails = property.name === 'email' ? [value] : value.split(';');
    const wrong = emails.find((email) => !isEmail(email));
    if (wrong !== undefined) return fault('INVALID_EMAIL', `Email address ${wrong} is invalid`);
    if (emails.some(context.isErased)) return fault('INVALID_EMAIL', 'email has been GDPR blacklisted');
  }
  if (property.name === 'hubspot_owner_id')
    return context.ownerIds.has(value)
      ? undefined
      : fault('INVALID_OWNER_ID', `Owner ${value} does not exist.`);
  const byType = faultOfType(property, value);
  if (byType) return fault(...byType);
  if (context.rule && !context.rule(value))
    return fault('VALIDATION_RULE', `The value does not meet the validation rule of "${property.name}".`);
  return undefined;
}

/** Whether HubSpot accepts an e-mail address. */
function isEmail(text: string): boolean {
  const [, local, domain] = /^([^\s@<>()[\],;:"\\]{1,64})@([^\s@]{1,253})$/.exec(text.trim()) ?? [];
  if (!local || !domain || /^\.|\.$|\.\./.test(local)) return false;
  const labels = domain.split('.');
  const top = labels.at(-1)?.toLowerCase() ?? '';
  const isDomain = labels.every((label) => /^[\p{L}\p{N}]([\p{L}\p{N}-]*[\p{L}\p{N}])?$/u.test(label));
  return labels.length > 1 && isDomain && /^\p{L}{2,}$|^xn--/u.test(top) && !UNKNOWN_DOMAINS.has(top);
}

function faultOfType(property: Property, value: string): [error: string, message: string] | undefined {
  const { type, fieldType, options } = property;
  if (type === 'number' && !/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value))
    return ['INVALID_INTEGER', `${value} was not a valid number.`];
  if (type === 'date' || type === 'datetime') return faultOfTime(type, value);
  const allowed =
    type === 'bool' ? ['true', 'false'] : type === 'enumeration' ? options.map((option) => option.value) : [];
  const chosen = fieldType === 'checkbox' ? value.split(';') : [value];
  const wrong = allowed.length === 0 ? undefined : chosen.find((part) => !allowed.includes(part));
  return wrong === undefined
    ? undefined
    : ['INVALID_OPTION', `${wrong} was not one of the allowed options: [${allowed.join(', ')}]`];
}

function faultOfTime(type: 'date' | 'datetime', value: string): [string, string] | undefined {
  const ms = /^-?\d+$/.test(value)
    ? Number(value)
    : /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2}))?$/.test(value)
      ? Date.parse(value)
      : Number.NaN;
  if (Number.isNaN(ms)) return ['INVALID_DATE', `${value} was not a valid date.`];
  if (type === 'date' && ms % 86_400_000 !== 0)
    return ['INVALID_DATE', `${value} is not midnight UTC, as a date must be.`];
  return undefined;
}

/** Returns what is wrong with the pipeline and the stage that a record would have, or undefined. */
export function faultOfStage(
  object: keyof typeof pipelineProperties,
  properties: Readonly<Record<string, string>>,
): PropertyFault | undefined {
  const names = pipelineProperties[object];
  const pipelines = standardPipelines[object];
  const pipelineId = properties[names.pipeline];
  const stageId = properties[names.stage];
  const pipeline = pipelineId ? pipelines.find(({ id }) => id === pipelineId) : pipelines[0];
  if (!pipeline)
    return {
      name: names.pipeline,
      error: 'INVALID_OPTION',
      message: `${pipelineId} was not one of the allowed options: [${pipelines.map(({ id }) => id).join(', ')}]`,
    };
  if (!stageId || pipeline.stages.some(({ id }) => id === stageId)) return undefined;
  return {
    name: names.stage,
    error: 'INVALID_OPTION',
    message: `${stageId} was not one of the allowed options: [${pipeline.stages.map(({ id }) => id).join(', ')}]`,
  };
}
