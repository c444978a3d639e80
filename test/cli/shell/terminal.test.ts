import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { sinkTypes } from '../../../src/sinks/registry.ts';
import { tempDir } from '../../support/files/temp-dir.ts';
import { Terminal } from '../../support/program/terminal.ts';
import { until } from '../../support/time/until.ts';
import { attemptDue, Install } from '../an-install.ts';

const refused = { kind: 'refused', reason: 'The CRM refuses the lead (422).', httpStatus: 422 } as const;

const CTRL_C = '\u0003';
const FIRST = '[https://leads.example.com]:';
const CTRL_D = '\u0004';

describe('init at a terminal', () => {
  const begin = async () => {
    const cwd = tempDir();
    const terminal = await Terminal.run(['init'], { cwd });
    await until('the first question', () => terminal.text.trimEnd().endsWith(FIRST));
    /** Types an answer, and gives what is shown then, once it ends so. */
    const answer = async (keys: string, end: string) => {
      const before = terminal.text.length;
      terminal.type(`${keys}\r`);
      await until(end, () => terminal.text.slice(before).trimEnd().endsWith(end));
      return terminal.text.slice(before);
    };
    return { terminal, answer, file: join(cwd, 'leadsync.yaml') };
  };

  test('asks again after a wrong answer, and writes the answers', async () => {
    const { terminal, answer, file } = await begin();
    expect(await answer('ftp://leads.example', FIRST)).toContain('\n  It must be an http or https address');
    await answer('https://leads.example', '[30s]:');
    expect(await answer('5', '[30s]:')).toContain('\n  It must be a duration such as 500ms');
    await answer('', '[csv]:');
    expect(await answer('webhok', '[csv]:')).toContain('There is no type "webhok": did you mean "webhook"?');
    await answer('csv', '[./drop]:');
    terminal.type('\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toContain('Wrote leadsync.yaml. Next:');
    expect(parse(readFileSync(file, 'utf8'))).toMatchObject({
      sources: { main: { base_url: 'https://leads.example', poll: { every: '30s' } } },
      sinks: { drop: { type: 'csv', directory: './drop' } },
    });
  });

  test('prints how to set up the destination of a CRM', async () => {
    const { terminal, answer, file } = await begin();
    await answer('', '[30s]:');
    await answer('', '[csv]:');
    await answer('hubspot', '[${HUBSPOT_TOKEN}]:');
    await answer('', '[none]:');
    terminal.type('AU\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.text).toContain(
      '2. Create what the destination of crm lacks: `leadsync setup crm --yes`;',
    );
    expect(parse(readFileSync(file, 'utf8')).sinks).toEqual({
      crm: { type: 'hubspot', token: '${HUBSPOT_TOKEN}', backfill: false, region: 'AU' },
    });
  });

  test.each([
    ['Ctrl-C', CTRL_C],
    ['Ctrl-D', CTRL_D],
  ])('is left by %s, and has written nothing', async (_, key) => {
    const { terminal, answer, file } = await begin();
    await answer('https://leads.example', '[30s]:');
    terminal.type(key);
    expect(await terminal.ended).toBe(1);
    expect(terminal.text).toContain('Nothing was written.');
    expect(existsSync(file)).toBe(false);
  });

  test('asks no question that is wider than 80 columns', async () => {
    const { terminal, answer } = await begin();
    await answer('', '[30s]:');
    const [first, ...others] = sinkTypes.map(({ setup }) => `[${setup.standard}]:`);
    await answer('', '[csv]:');
    await answer(sinkTypes.map(({ type }) => type).join(','), first ?? '');
    for (const end of others) await answer('', end);
    for (const line of terminal.text.split('\n'))
      expect(line.replace(/\]: .*/, ']: ').length, line).toBeLessThanOrEqual(80);
  });
});

describe('top at a terminal', () => {
  const watch = async (size: { columns: number; rows: number }) => {
    const install = new Install();
    await install.listed(1, 2, 3);
    const terminal = await Terminal.run(['top', '-c', install.configFile], size);
    await until('a picture', () => terminal.picture[0]?.startsWith('leadsync ') === true);
    return terminal;
  };

  test.each([
    { columns: 80, rows: 24 },
    { columns: 60, rows: 24 },
    { columns: 40, rows: 7 },
  ])('never writes past its edges: %j', async (size) => {
    const { picture } = await watch(size);
    expect(picture.length).toBeLessThanOrEqual(size.rows);
    for (const line of picture) expect(line.length, line).toBeLessThanOrEqual(size.columns);
    if (size.rows === 24)
      expect(picture.join('\n')).toMatch(/^SINK +STATE +PENDING[\s\S]*^crm +healthy +3 /m);
    else expect(picture.at(-1)).toBe('…');
  });

  test('redraws itself if the size of the window changes', async () => {
    const terminal = await watch({ columns: 120, rows: 24 });
    expect(terminal.picture.join('\n')).toContain('FAILED/MIN');
    terminal.resize(50, 6);
    await until('a smaller picture', () => terminal.picture.length <= 6);
    for (const line of terminal.picture) expect(line.length, line).toBeLessThanOrEqual(50);
    expect(terminal.picture.at(-1)).toBe('…');
    terminal.resize(120, 24);
    await until('the whole picture', () => terminal.picture.join('\n').includes('FAILED/MIN'));
  });

  test.each([
    ['q', 'q'],
    ['Ctrl-C', CTRL_C],
  ])('is left by %s, and gives the terminal back', async (_, key) => {
    const terminal = await watch({ columns: 80, rows: 24 });
    terminal.type(key);
    expect(await terminal.ended).toBe(0);
    expect(terminal.written.trimEnd().endsWith('\u001b[?7h\u001b[?25h\u001b[?1049l')).toBe(true);
  });
});

describe('colours', () => {
  /** Returns what a terminal gets of a status with a paused sink and dead deliveries. */
  const shown = async (env: Record<string, string>) => {
    const install = new Install();
    const ledger = await install.listed(1, 2);
    await attemptDue(ledger, 'crm', install.clock, () => refused);
    await ledger.pause('drop', 'moving house');
    const cwd = install.folder;
    const terminal = await Terminal.run(['status'], {
      cwd,
      env: { CI: undefined, FORCE_COLOR: undefined, ...env },
    });
    await terminal.ended;
    return terminal;
  };

  test('mark errors and warnings on a terminal, without moving columns', async () => {
    const { written, text } = await shown({ TERM: 'xterm-256color' });
    const [red, yellow, end] = [31, 33, 39].map((code) => `\u001b[${code}m`);
    expect(written).toContain(`${red}No leadsync is running`);
    expect(written).toContain(`${yellow}drop has been paused`);
    expect(written).toContain(`${yellow}paused${end}`);
    expect(written).toContain(`${red}2${end}`);
    expect(text).toMatch(/^crm {3}webhook {2}has dead {10}0 {8}0 {5}2 /m);
  });

  test.each([{ TERM: 'xterm-256color', NO_COLOR: '1' }, { TERM: 'dumb' }])(
    'are absent with %o',
    async (env) => {
      const { written } = await shown(env);
      expect(written).toContain('drop has been paused');
      expect(written).not.toContain('\u001b[3');
    },
  );
});
