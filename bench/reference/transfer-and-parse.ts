// Floor, a lower bound: transfers the listing and calls JSON.parse once.
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({ options: { 'base-url': { type: 'string', default: '' } } });

await eachLine(async () => {
  const { body } = await request(`${values['base-url']}/api/v1/leads`);
  const leads = JSON.parse(await body.text());
  return { leads: leads.length };
});
