import { hash } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exportedRows } from '../../src/exports/files/read-export.ts';
import { Install } from '../cli/an-install.ts';
import { runLeadsync } from '../support/program/leadsync.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

/** Of NUL, each six characters of JSON: 63 MB, far more than `max_lead_size` allows by itself, and of two columns of a row. */
const CHARACTERS = 10_500_000;

it.each(['parquet', 'csv', 'jsonl'])(
  'takes the largest lead that is let in away as %s, and those beside it',
  async (format) => {
    const install = new Install();
    const answer = { question: 'Anything else?', slug: 'else', answer: '\0'.repeat(CHARACTERS) };
    const leads = [
      aListedLead({ id: 1 }, 0),
      aListedLead({ id: 2, service_question_answers: [answer] }, 1),
      aListedLead({ id: 3 }, 2),
    ];
    await install.recorded(leads);
    const output = join(install.folder, `leads.${format}`);
    const { code, stderr } = await runLeadsync(['export', '-c', install.configFile, output]);
    expect([code, stderr]).toEqual([0, '']);
    const raws: string[] = [];
    for await (const row of exportedRows(output, () => ['_leadsync_raw', '_leadsync_original'])) {
      raws.push(String(row['_leadsync_original'] || row['_leadsync_raw']));
    }
    // Texts of this length are compared without showing them.
    expect(raws.map((raw) => hash('sha256', raw))).toEqual(leads.map(({ raw }) => hash('sha256', raw)));
  },
);
