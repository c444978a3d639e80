import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { aStub } from '../stub/pipedrive/call.ts';
import type { PipedriveStub, PipedriveStubOptions } from '../stub/pipedrive/pipedrive-stub.ts';

const OPPOSITE: PipedriveStubOptions = {
  invalidValueStatus: 422,
  tooLong: 'cut',
  unknownLeadField: 'ignore',
  missingLinkStatus: 404,
  deletedStatus: 410,
  createdStatus: 201,
  searchLagMs: 2_000,
};

/** What a proof of the steps takes at least: it keeps within the limits of the smallest plan. */
const TIMEOUT_MS = 120_000;

function start({ url, token }: Pick<PipedriveStub, 'url' | 'token'>) {
  const program = new URL('crm.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [program, '--pipedrive', '-', '--domain', url], {
    env: { ...process.env, PIPEDRIVE_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]).then(
    ([stdout, stderr, [code]]) => ({ stdout, stderr, code: code as number }),
  );
  return { child, said };
}

/** Everything that a company has: its fields, and the records that are not deleted. */
function contentOf({ records, fields }: PipedriveStub) {
  const { persons, leads, deals } = records;
  const isThere = ({ is_deleted }: { readonly is_deleted: boolean }) => !is_deleted;
  return { fields, persons: persons.filter(isThere), leads, deals: deals.filter(isThere) };
}

test.each([
  ['as assumed', {}, ['lead: HTTP 400', 'deleted person: HTTP 404', 'new lead: HTTP 201, has']],
  [
    'in the opposite way',
    OPPOSITE,
    ['lead: HTTP 201', 'deleted person: HTTP 410', 'number as a text: HTTP 422'],
  ],
] as const)(
  'the proof learns what a company does that answers open questions %s, and leaves nothing',
  async (_, options, learned) => {
    const stub = await aStub(options);
    const mine = { field_name: 'leadsync url', field_type: 'varchar' } as const;
    stub.addField('person', mine);
    const before = contentOf(stub);
    const { stdout, stderr, code } = await start(stub).said;
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    for (const fact of learned) expect(stdout).toContain(fact);
    expect(stdout).not.toContain(stub.token);
    expect(stdout.match(/^ ?\d+ {2}.*(holds|asked)/gm)).toHaveLength(12);
    expect(contentOf(stub)).toEqual(before);
  },
  TIMEOUT_MS,
);

test(
  'steps that fail and what could not be removed are named, and the other steps run',
  async () => {
    const stub = await aStub();
    stub.misbehave({ at: 'POST /notes', fault: 'server-error' });
    stub.misbehave({ at: 'DELETE /persons/{id}', fault: 'server-error' });
    const { stdout, code } = await start(stub).said;
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ 3 {2}two enquiries of a person +FAILS/m);
    expect(stdout).toMatch(/^ 9 {2}merged person/m);
    expect(stdout).toMatch(/NOT REMOVED:\n(person \d+: HTTP 500.*\n)+/);
  },
  TIMEOUT_MS,
);

test(
  'Ctrl-C in the middle leaves nothing',
  async () => {
    const stub = await aStub();
    const before = contentOf(stub);
    const { child, said } = start(stub);
    child.stdout.on('data', (data) => {
      if (String(data).includes('4/12')) child.kill('SIGINT');
    });
    const { stdout, code } = await said;
    expect(code, stdout).toBe(130);
    expect(stdout).toContain('Everything that was written is removed.');
    expect(contentOf(stub)).toEqual(before);
  },
  TIMEOUT_MS,
);
