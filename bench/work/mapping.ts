import { join } from 'node:path';
import { atMost, figureOf } from '../figure.ts';
import { install, runLeadsync } from '../leadsync-under-test.ts';
import type { Use } from '../process-use.ts';
import { ReferenceProcess } from '../reference-process.ts';
import { settleDisk } from '../servers.ts';
import { inTurns, newFolder, type Work, type Workbench } from '../workbench.ts';

/** A mapping of a condition and ten fields, each of another kind. */
const MAPPING = {
  where: 'lead.service_slug != "" && !lead.client_email.endsWith("@nowhere.example.com")',
  fields: {
    email: 'email(lead.client_email)',
    first_name: 'name(lead.client_name).first',
    last_name: 'name(lead.client_name).last',
    bedrooms: 'answer("bedrooms")',
    rooms: 'answers("rooms").join("; ")',
    note: 'lead.questions.map(q, q.question + ": " + q.answer).join("\\n")',
    utm_source: 'raw.?utm.?source.orValue("")',
    owner: 'rotate(["101", "102", "103"], lead.key)',
    stage: { value: 'lead' },
    urgent: 'answer("when") == "today" ? "true" : "false"',
  },
};

/** The same with two of the functions that take longest, in place of two others. */
const SLOWER_MAPPING = {
  ...MAPPING,
  fields: {
    ...MAPPING.fields,
    bedrooms: 'phone(lead.client_phone_number, "AU")',
    urgent: 'date(delivery.first_seen_at, "Australia/Sydney", "dd/MM/yyyy HH:mm")',
  },
};

/** Maximum CPU time of the mapping, in ms per 100 leads: 10 µs a lead. */
const MAX_MS_PER_100 = 1;

/** Row 15: a first sync to CSV files, with and without a mapping. */
export const mapping: Work = {
  number: 15,
  name: 'mapping',
  measure: async (workbench) => {
    const leads = workbench.quick ? 20_000 : 100_000;
    await workbench.world.show({ leads });
    const { mapped, received } = await inTurns(workbench, {
      mapped: () => sync(workbench, MAPPING),
      received: () => sync(workbench, {}),
    });
    const results = { leadsync: mapped, 'without a mapping': received };
    const alone = await inTurns(workbench, {
      leadsync: () => mapAlone(MAPPING, leads),
      slower: () => mapAlone(SLOWER_MAPPING, leads),
    });
    return {
      title: `First sync of ${leads.toLocaleString('en')} leads into CSV files, with a mapping of ten expressions`,
      figures: [
        figureOf('wall time', 's', results, ({ wallMs }) => wallMs / 1000),
        figureOf('CPU time', 's', results, ({ cpuMs }) => cpuMs / 1000),
        figureOf(
          'CPU time of the mapping alone, for 100 leads',
          'ms',
          { leadsync: alone.leadsync },
          (ms) => ms,
          [atMost(MAX_MS_PER_100)],
        ),
        figureOf('the same with a phone number and a date', 'ms', { leadsync: alone.slower }, (ms) => ms),
        figureOf('peak memory', 'MB', results, ({ peakMb }) => peakMb),
      ],
      series: [],
      notes: [
        'The mapping has a condition and ten fields, among them the answers as a text, an unknown field, an owner by turns and a constant. The two syncs write other columns, so their difference is not the time of the mapping, which is measured for itself, on the same leads in memory.',
        'Most of the additional time of a phone number is that of libphonenumber, and of a date that of ICU.',
      ],
    };
  },
};

/** Returns the CPU time of a mapping, in ms for 100 leads. */
async function mapAlone({ where, fields }: typeof MAPPING, leads: number): Promise<number> {
  const rules = Object.entries(fields).map(([name, from]) => [
    name,
    typeof from === 'string' ? { from, once: false, invalid: 'refuse' } : from,
  ]);
  const mapping = JSON.stringify({ where, fields: Object.fromEntries(rules) });
  const reference = new ReferenceProcess('map-leads', { leads: String(leads), mapping });
  await reference.run(); // warms up
  const { cpuMs = Number.NaN } = await reference.run();
  await reference.close();
  return cpuMs / (leads / 100);
}

function sync(workbench: Workbench, options: Readonly<Record<string, unknown>>): Promise<Use> {
  settleDisk();
  const directory = join(newFolder(workbench), 'drop');
  const drop = { type: 'csv', directory, batch: { max: 10_000, wait: '1s' }, ...options };
  return install(workbench, { sinks: { drop } }).then((installed) =>
    runLeadsync(workbench, installed, ['sync']),
  );
}
