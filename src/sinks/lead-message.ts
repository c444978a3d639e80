import type { Delivery } from '../leads/delivery.ts';
import { readLead } from '../leads/lead.ts';
import { mappedText } from '../leads/mapped-fields.ts';
import { parseDateTime } from '../leads/parse-date-time.ts';
import { printMinute } from '../platform/text/human-readable.ts';
import { escaped, INTERPRETED_IN_PAGES } from '../platform/text/printable.ts';
import type { SinkParts } from './sink-type.ts';

/** A line of a message: a label and a value, which may itself have several lines. Both are safe to show to a person. */
export interface MessageLine {
  readonly label: string;
  readonly value: string;
  /** The value as a phone dials it, if it is a phone number: `+61412345678`. */
  readonly dial?: string | undefined;
}

/**
 * A message to a person about a lead. None of its texts contains lone surrogates, bidirectional formatting characters, or control characters
 * other than tab and line feed.
 */
export interface LeadMessage {
  /** One line. */
  readonly title: string;
  readonly lines: readonly MessageLine[];
  /** The lead's source and id, by which a person recognises a repeated message: `main:4711`. */
  readonly key: string;
  /** The address of the lead's page; undefined if the pages have no public address. */
  readonly url: string | undefined;
}

/** How a sink presents the message. */
interface MessageForm {
  /** The configured title; undefined for the default. */
  readonly title: string | undefined;
  /** Whether the lead is the test lead. */
  readonly isTest: boolean;
  readonly leadUrl: SinkParts['leadUrl'];
}

/** Maximum number of characters in a title. */
const MAX_TITLE = 140;
/** Maximum number of characters in a label. */
const MAX_LABEL = 200;

const TEST_TITLE = 'TEST of leadsync, not a lead';

/**
 * Returns the message about the lead of a delivery: the fields of the sink's mapping or, without a mapping, the details of the lead. Leaves
 * out fields without a value, but keeps empty answers.
 */
export function leadMessage(delivery: Delivery, { title, isTest, leadUrl }: MessageForm): LeadMessage {
  const { source, leadId, fields } = delivery;
  const written = inOneLine(title ?? '') || (isTest ? '' : defaultTitle(delivery));
  return {
    title: cutText([isTest ? TEST_TITLE : '', written].filter(Boolean).join(': '), MAX_TITLE),
    lines: fields
      ? withValue([...fields].map(([name, value]) => fieldLine(name, mappedText(value))))
      : linesOf(delivery),
    key: `${source}:${leadId}`,
    url: leadUrl({ source, leadId }),
  };
}

/** Formats a line as text. All lines of the value but the first are indented, so that no value can look like another line of the message. */
export function printLine({ label, value }: MessageLine, maxValue: number): string {
  const shown = cutText(value, maxValue).replaceAll('\n', '\n    ');
  return `${label}${/[?:.!]$/.test(label) ? '' : ':'} ${shown}`;
}

/** Cuts a text to at most `max` characters. An ellipsis replaces what was cut. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Returns the text on one line, safe to show. */
function inOneLine(text: string): string {
  return safeText(text).replace(/\s+/g, ' ').trim();
}

/** Returns the text in a form that is safe to show: every line break is a line feed, and characters that could mislead a reader are escaped. */
export function safeText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u2028\u2029]/g, '\n')
    .replace(INTERPRETED_IN_PAGES, escaped);
}

/** Returns the title of a message if none is configured. */
function defaultTitle(delivery: Delivery): string {
  const service = inOneLine(readLead(delivery.raw).service_name);
  const what =
    delivery.event === 'updated' ? 'Changed lead' : delivery.replay ? 'Lead sent again' : 'New lead';
  return service === '' ? what : `${what}: ${service}`;
}

/** Returns the lines for a lead as received. The phone number comes early, because a salesperson needs it first. */
function linesOf({ raw }: Delivery): MessageLine[] {
  const lead = readLead(raw);
  const createdMs = parseDateTime(lead.created_at);
  const time = createdMs === null ? lead.created_at : printMinute(new Date(createdMs));
  return [
    ...withValue([
      lineOf('Name', lead.client_name),
      { ...lineOf('Phone', lead.client_phone_number), dial: dialled(lead.client_phone_number, TYPED_NUMBER) },
      lineOf('Email', lead.client_email),
      lineOf('Address', lead.client_address?.friendly_address ?? ''),
      lineOf('Service', lead.service_name),
    ]),
    // An empty answer stays, so that a salesperson sees that the question was asked.
    ...lead.service_question_answers.map(({ question, answer }) => lineOf(question, answer)),
    ...withValue([lineOf('Time', time)]),
  ];
}

function withValue(lines: readonly MessageLine[]): MessageLine[] {
  return lines.filter(({ value }) => value !== '');
}

function fieldLine(name: string, value: string): MessageLine {
  return { ...lineOf(name, value), dial: dialled(value, E164) };
}

/** A phone number as the function `phone()` of a mapping returns it (ITU-T E.164). */
const E164 = /^\+[1-9]\d{6,14}$/;
/** A phone number as a client types it, in groups of digits. */
const TYPED_NUMBER = /^[+(]?\d([\s()./-]*\d){6,14}$/;

function dialled(value: string, number: RegExp): string | undefined {
  return number.test(value) ? value.replace(/[^+\d]/g, '') : undefined;
}

function lineOf(label: string, value: string): MessageLine {
  return { label: cutText(inOneLine(label), MAX_LABEL), value: safeText(value) };
}
