import { describe, expect, test } from 'vitest';
import { describeSink } from '../../../src/config/changes/compare-configs.ts';
import { loadConfig } from '../../../src/config/load-config.ts';
import { textOf } from '../../../src/mapping/definition.ts';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { aListedLead } from '../../support/scene/a-lead.ts';
import { Install } from '../an-install.ts';

const URL = 'http://127.0.0.1:9/hook';

function anInstall(crm: Readonly<Record<string, unknown>>): Install {
  return new Install({
    sinks: { crm: { type: 'webhook', url: URL, ...crm }, plain: { type: 'webhook', url: URL } },
  });
}

/** Returns the ledger of an installation in which these leads were listed. */
function recordedBy(install: Install, ...leads: Record<string, unknown>[]) {
  return install.recorded(leads.map((lead, position) => aListedLead(lead, position)));
}

const plumbers = {
  where: 'lead.service_slug == "plumbing"',
  fields: { name: 'name(lead.client_name).last', phone: 'phone(lead.client_phone_number, "AU")' },
};

describe('leadsync test', () => {
  test('shows every test, and what came instead for one that fails', async () => {
    const install = anInstall({
      ...plumbers,
      tests: [
        { name: 'a last name', gives: { name: 'Citizen' } },
        { name: 'no phone', lead: { client_phone_number: 'ring me' }, gives: { phone: '+61' } },
        { name: 'gardeners', lead: { service_slug: 'gardening' }, left_out: true },
      ],
    });
    const { code, stdout, stderr } = await install.run(['test']);
    expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
    expect(stdout).toBe(`sink crm
  ok      a last name
  FAILED  no phone
            phone
              expected  "+61"
              result    null
  ok      gardeners
3 tests, 1 failed.
`);
    expect((await install.run(['validate'])).stderr).toContain(
      'sinks.crm.tests[1].gives.phone: the test "no phone" expects "+61", and the result is null',
    );
  });

  test('exits with 0 if every test passes', async () => {
    const install = anInstall({ ...plumbers, tests: [{ name: 'x', gives: { name: 'Citizen' } }] });
    expect(await install.run(['test', 'crm'])).toEqual({
      code: 0,
      stdout: 'sink crm\n  ok      x\n1 test, all passed.\n',
      stderr: '',
    });
    expect(await install.json('test')).toEqual([
      { sink: 'crm', tests: [{ test: 'x', passed: true, differences: [] }] },
    ]);
  });

  test('says of a sink without a mapping that it has none', async () => {
    const install = anInstall({});
    expect((await install.run(['test', 'plain'])).stderr).toContain(
      'plain has no mapping: it gets every lead as received.',
    );
    expect((await install.run(['test'])).stderr).toContain('No sink has a mapping.');
    expect((await install.run(['test', 'crn'])).stderr).toContain('did you mean "crm"?');
  });

  test('applies a mapping to a recorded lead, and shows its content only when asked', async () => {
    const install = anInstall(plumbers);
    const lead = { id: 42, client_name: 'Ana Geheim', client_phone_number: '0412 345 678' };
    await recordedBy(install, { ...lead, service_slug: 'plumbing' }, { id: 43, service_slug: 'gardening' });
    expect((await install.run(['test', 'crm', '--lead', '42'])).stdout).toBe(
      'sink crm, lead 42 of main: would be sent\n  name   text of 6 characters\n  phone  text of 12 characters\n',
    );
    expect((await install.run(['test', 'crm', '--lead', '42', '--show-data'])).stdout).toContain(
      'name   "Geheim"',
    );
    expect((await install.run(['test', 'crm', '--lead', '43'])).stdout).toBe(
      'sink crm, lead 43 of main: would be left out\n',
    );
    expect(await install.run(['test', 'crm', '--lead', '44'])).toMatchObject({ code: 1 });
  });

  test('counts what becomes of the last leads', async () => {
    const install = anInstall({ ...plumbers, fields: { ...plumbers.fields, rooms: 'int(answer("rooms"))' } });
    const answers = (answer: string) => [{ question: 'Rooms?', slug: 'rooms', answer }];
    const plumbing = { service_slug: 'plumbing' };
    await recordedBy(
      install,
      { id: 1, service_slug: 'gardening' },
      { id: 2, ...plumbing, client_phone_number: '?', service_question_answers: answers('3') },
      { id: 3, ...plumbing, service_question_answers: answers('many') },
    );
    const { stdout, code } = await install.run(['test', 'crm', '--last', '50']);
    expect(code).toBe(1);
    expect(
      stdout,
    ).toBe(`sink crm: of the last 3 leads, 1 go to it, 1 are left out, and an expression fails for 1
  phone is empty for 1 of 1
  1 ×, such as main:3: The expression of \`rooms\` failed for this lead at column 1: the text is not a whole number.
`);
    expect(stdout).not.toContain('many');
    expect(await install.run(['test', '--last', 'all'])).toMatchObject({ code: 2 });
  });
});

describe('leadsync plan', () => {
  test('says how many of the last leads go to a sink before and after a change of its mapping', async () => {
    const install = anInstall(plumbers);
    const ledger = await recordedBy(
      install,
      ...[1, 2, 3].map((id) => ({ id, service_slug: id === 1 ? 'plumbing' : 'gardening' })),
    );
    const { sinks } = loadConfig(install.configFile, { sinkTypes, env: {} });
    await ledger.declareSinks(
      sinks.map((sink) => ({
        name: sink.name,
        events: sink.events,
        backfill: true,
        config: describeSink(sink),
        mapping: sink.mapping && textOf(sink.mapping),
      })),
    );
    install.configure({
      sinks: {
        crm: { type: 'webhook', url: URL, ...plumbers, where: 'lead.service_slug != "plumbing"' },
        plain: { type: 'webhook', url: URL },
      },
    });
    const { stdout } = await install.run(['plan']);
    expect(stdout).toContain('sink crm: where, from its next attempt on');
    expect(stdout).toContain('; of the last 3 leads, 2 go to it instead of 1\n');
    install.configure({
      sinks: {
        crm: { type: 'webhook', url: URL, ...plumbers, where: 'int(lead.client_name) > 0' },
        plain: { type: 'webhook', url: URL },
      },
    });
    expect((await install.run(['plan'])).stdout).toContain(
      '0 go to it instead of 1, and an expression fails for 3, which would be refused: see `leadsync test`',
    );
  });
});

describe('leadsync preview', () => {
  test('shows the mapped request, and says why a lead does not go to the sink', async () => {
    const install = anInstall(plumbers);
    await recordedBy(install, { id: 42, service_slug: 'plumbing' }, { id: 43, service_slug: 'gardening' });
    const { stdout } = await install.run(['preview', '--sink', 'crm', '--lead', '42']);
    expect(stdout).toMatch(/"data":\{"name":"Müller","phone":/);
    expect((await install.run(['preview', '--sink', 'crm', '--lead', '43'])).stderr).toContain(
      'crm would not get lead 43: left out by `where` of crm',
    );
  });
});
