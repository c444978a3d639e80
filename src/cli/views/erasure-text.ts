import type { Certificate } from '../../operations/erasure/certificate.ts';
import { countOf } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';
import type { KeptRecord } from '../../sinks/sink.ts';

/** Returns the certificate of an erasure as text: what was erased, and which places were reached. */
export function certificateText({ at, leads, erased, places }: Certificate): string {
  const { versions, rejected, attempts, skipped } = erased;
  const lines = [
    `Erased at ${at.toISOString()}:`,
    ...leads.map(({ source, leadId }) => `  lead ${printable(source)} ${leadId}`),
    `  ${countOf(versions, 'lead version')} and ${countOf(rejected, 'rejected lead')} emptied, ${countOf(attempts, 'answer')} removed, ${countOf(skipped, 'delivery')} skipped`,
    '',
    ...places.flatMap(({ place, type, reached, what, files, kept }) => [
      `${reached ? 'reached    ' : 'NOT REACHED'}  ${printable(place)}${type === place ? '' : ` (${type})`}: ${printable(what)}`,
      ...(files ?? []).map((file) => `               ${printable(file)}`),
      ...(kept ?? []).map((record) => `               ${printable(keptText(record))}`),
    ]),
    '',
    "Not searched: files from leadsync export, backups of the ledger and of databases, PostgreSQL's WAL and free space, MySQL's binary log and free space, logs of receivers, copies made by others.",
  ];
  return `${lines.join('\n')}\n`;
}

function keptText({ object, id, url, why }: KeptRecord): string {
  return `${object} ${id}${url === undefined ? '' : ` (${url})`}: ${why}`;
}

/** Returns the certificate of an erasure as the value that `--json` prints. */
export function certificateJson({ at, leads, rejected, erased, places }: Certificate) {
  return {
    at,
    leads: leads.map(({ source, leadId }) => ({ source, id: String(leadId) })),
    rejected_leads: rejected,
    erased,
    places: places.map(({ files, kept, ...place }) => ({ ...place, files: files ?? [], kept: kept ?? [] })),
    not_looked_at: [
      'files of leadsync export',
      'backups',
      "PostgreSQL's WAL and free space",
      "MySQL's binary log and free space",
      'logs of receivers',
      'copies made by others',
    ],
  };
}
