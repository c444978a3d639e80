import type { Restored } from '../../operations/restoring/restore.ts';
import { countOf, printMomentAndAge } from '../../platform/text/human-readable.ts';
import { printable } from '../../platform/text/printable.ts';

/** Describes what a backup contains, what the restore did or would do, and the consequences. */
export function restoreText(restored: Restored, now: Date): string {
  return [...contentLines(restored, now), ...changeLines(restored), '', ...AFTERWARDS, ''].join('\n');
}

function contentLines({ source, contents, manifest }: Restored, now: Date): string[] {
  const { counts, sources, lastPollAt, schema } = contents;
  const made = manifest
    ? `a backup that leadsync ${printable(manifest.leadsync)} made at ${printMomentAndAge(manifest.madeAt, now)}`
    : 'a copy of a ledger';
  const polled = lastPollAt
    ? `its last poll began at ${printMomentAndAge(lastPollAt, now)}`
    : 'no source has been polled yet';
  const of = sources.length > 0 ? ` of ${printable(sources.join(', '))}` : '';
  return [
    `${source} is ${made}, and is undamaged.`,
    `  It has ${countOf(counts['_leads'] ?? 0, 'lead')}${of} and ${countOf(counts['_deliveries'] ?? 0, 'delivery', 'deliveries')}; ${polled}. Schema ${schema}.`,
  ];
}

function changeLines({ file, replaces, exchanged, aside, files }: Restored): string[] {
  const place = printable(file);
  if (!exchanged)
    return [
      replaces
        ? `It would replace ${place}, which would be kept as ${place}.replaced-TIME.`
        : `There is no ledger at ${place} yet.`,
    ];
  return [
    `It is now the ledger ${place}.`,
    ...aside.map(
      (path) =>
        `  ${printable(path)} is the former ledger, or a part of it. It holds personal data: remove it when you no longer need it.`,
    ),
    ...(files.length > 0
      ? [`  Also restored, because they were missing: ${printable(files.join(', '))}.`]
      : []),
  ];
}

const AFTERWARDS = [
  'After a restore:',
  '- leadsync does not know what it delivered after the last poll in the backup. It delivers that again, under the same ids, as long as the source still lists it with the same content. Receivers recognise the repeats by the id.',
  '- Leads that the source listed only between the backup and now are not in the ledger. `leadsync query` on the former ledger shows them.',
  '- Erased people stay erased: `leadsync run` erases everyone in erased.jsonl again. If that file was lost, erase again everyone whom you erased after the backup.',
  '- Requests since the backup are lost: pauses, retries, replays, `forget`. `leadsync status` shows what is paused.',
  '- A person must log in again for each source whose token is not in the data directory. `leadsync check` shows which.',
];

/** Returns the report of a restore as JSON. */
export function restoreJson({ contents, manifest, ...restored }: Restored) {
  const { file, source, replaces, exchanged, aside, files } = restored;
  return {
    file,
    source,
    made_at: manifest?.madeAt.toISOString() ?? null,
    leadsync: manifest?.leadsync ?? null,
    schema: contents.schema,
    sources: contents.sources,
    leads: contents.counts['_leads'] ?? 0,
    deliveries: contents.counts['_deliveries'] ?? 0,
    last_poll_at: contents.lastPollAt?.toISOString() ?? null,
    replaces,
    restored: exchanged,
    kept_as: aside,
    files,
  };
}
