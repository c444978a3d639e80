// Floor, a lower bound: transfers the listing and counts its bytes.
import { parseArgs } from 'node:util';
import { request } from 'undici';
import { eachLine } from './each-line.ts';

const { values } = parseArgs({ options: { 'base-url': { type: 'string', default: '' } } });

await eachLine(async () => {
  const { body } = await request(`${values['base-url']}/api/v1/leads`);
  let bytes = 0;
  for await (const part of body) bytes += part.length;
  return { bytes };
});
