import { until } from '../time/until.ts';
import { type LeadsyncOptions, startLeadsync } from './leadsync.ts';

/** Runs `leadsync login SOURCE` with a browser whose user consents immediately. @throws Error if the login fails */
export async function logIn(
  configFile: string,
  source = 'main',
  options: LeadsyncOptions = {},
): Promise<void> {
  const login = startLeadsync(['login', source, '-c', configFile], options);
  try {
    const address = await until('the address is printed', () => /^http\S+$/m.exec(login.stdout)?.[0]);
    await fetch(address);
    const { code } = await login.exited;
    if (code !== 0) throw new Error(`The login failed.\n${login.stderr}`);
  } finally {
    login.process.kill('SIGKILL');
  }
}
