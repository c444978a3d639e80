import { expect, test, vi } from 'vitest';
import { Opened } from '../support/program/tool.ts';
import { prove } from './crm-proof.ts';

test('a stop lets the current step end, begins no other, and removes what was written', async () => {
  vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const opened = new Opened();
  const happened: string[] = [];
  const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const account = {
    run: 'run',
    cleanUp: async () => {
      happened.push('removed');
      return [];
    },
  };
  const steps = [
    {
      name: 'writes',
      run: async () => {
        begun.resolve();
        await answered.promise;
        happened.push('written');
        return { learned: '' };
      },
    },
    { name: 'never begins', run: async () => ({ learned: String(happened.push('begun')) }) },
  ];
  const open = () =>
    opened.add(
      () => ({}),
      () => happened.push('closed'),
    );
  const proved = prove(opened, account, { url: 'https://crm.example', steps, open });
  await begun.promise;
  const stopped = opened.stop();
  answered.resolve();
  expect(await stopped).toEqual([]);
  await proved;
  expect(happened).toEqual(['written', 'closed', 'removed']);
});
