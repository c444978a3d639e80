import type { Delivery } from '../../leads/delivery.ts';
import { readLead } from '../../leads/lead.ts';
import { mappedText } from '../../leads/mapped-fields.ts';
import { escapeHtml } from '../../platform/text/html-escape.ts';
import {
  cutText,
  type LeadMessage,
  leadMessage,
  type MessageLine,
  printLine,
  safeText,
} from '../lead-message.ts';
import type { SinkParts } from '../sink-type.ts';
import { isAddress, readAddresses } from './addresses.ts';

/** An email about a lead. */
export interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly replyTo: string | undefined;
  readonly subject: string;
  /** The same for every attempt, so that mailboxes can drop a repeat (RFC 5322, section 3.6.4). */
  readonly messageId: string;
  readonly text: string;
  readonly html: string;
}

/** Maximum number of characters of one value in the default text: emails may be long, but servers limit their size. */
const MAX_VALUE = 20_000;
/** Maximum number of characters of the text. */
const MAX_TEXT = 500_000;

/** Returns the email about the lead of a delivery; undefined if the lead has no valid recipients. */
export function mailOf(
  delivery: Delivery,
  { from, isTest, leadUrl }: { from: string; isTest: boolean; leadUrl: SinkParts['leadUrl'] },
): Mail | undefined {
  const to = readAddresses(delivery.perLead?.get('to'));
  if (to === undefined) return undefined;
  const textOf = (option: string) => mappedText(delivery.perLead?.get(option));
  const message = leadMessage(delivery, { title: textOf('subject'), isTest, leadUrl });
  const [text, html] = [textOf('text'), textOf('html')];
  return {
    from,
    to,
    replyTo: replyTo(delivery),
    subject: message.title,
    messageId: messageId(delivery.id, from),
    text: cutText(text === '' ? plainText(message) : safeText(text), MAX_TEXT),
    html: html === '' ? htmlTable(message) : html.toWellFormed(),
  };
}

/** Returns the address for replies: that of `reply_to`, or the client's; undefined if it is not valid. */
function replyTo({ perLead, raw }: Delivery): string | undefined {
  const written = perLead?.get('reply_to');
  if (written !== undefined) return readAddresses(written)?.[0];
  const address = readLead(raw).client_email.trim();
  return isAddress(address) ? address : undefined;
}

/** Returns the Message-ID: the delivery's id, encoded with the characters of a `dot-atom` without dots, at the sender's domain. */
function messageId(deliveryId: string, from: string): string {
  const encoded = Buffer.from(deliveryId)
    .toString('latin1')
    .replace(/[^A-Za-z0-9_-]/g, (byte) => `=${byte.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `<${encoded}@${from.slice(from.lastIndexOf('@') + 1)}>`;
}

function plainText({ lines, url, key }: LeadMessage): string {
  const footer = url === undefined ? [`Lead ${key}`] : [`Lead ${key}: ${url}`];
  return [...lines.map((line) => printLine(line, MAX_VALUE)), '', ...footer].join('\n');
}

/** Returns the lines as a table. Styles are in the elements, because mail programs remove style sheets. */
function htmlTable({ title, lines, url, key }: LeadMessage): string {
  const rows = lines.map(
    (line) =>
      `<tr><th style="text-align:left;vertical-align:top;padding:4px 16px 4px 0;font-weight:600;white-space:normal">${escapeHtml(line.label)}</th><td style="vertical-align:top;padding:4px 0;white-space:pre-wrap;overflow-wrap:anywhere">${linked(line)}</td></tr>`,
  );
  const link = url === undefined ? '' : `<a href="${escapeHtml(url)}">Open the lead</a> · `;
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title></head>
<body style="font-family:system-ui,sans-serif;font-size:15px;line-height:1.4;color:#1a1a1a;margin:16px;max-width:640px">
<h1 style="font-size:19px;margin:0 0 12px">${escapeHtml(title)}</h1>
<table style="border-collapse:collapse">
${rows.join('\n')}
</table>
<p style="color:#595959;font-size:13px;margin:16px 0 0">${link}Lead ${escapeHtml(key)}</p>
</body></html>`;
}

/** Returns a value as HTML. A phone number becomes a link that dials it, and an email address becomes a link that opens a new email to it. */
function linked({ value, dial }: MessageLine): string {
  const shown = escapeHtml(cutText(value, MAX_VALUE));
  if (dial !== undefined) return `<a href="tel:${dial}">${shown}</a>`;
  if (isAddress(value))
    return `<a href="mailto:${escapeHtml(encodeURIComponent(value).replace('%40', '@'))}">${shown}</a>`;
  return shown;
}

/** Returns the email headers that a preview shows, spelled as in the email. */
export function previewHeaders(mail: Mail): Record<string, string> {
  return {
    From: mail.from,
    To: mail.to.join(', '),
    ...(mail.replyTo === undefined ? {} : { 'Reply-To': mail.replyTo }),
    Subject: mail.subject,
    'Message-ID': mail.messageId,
  };
}
