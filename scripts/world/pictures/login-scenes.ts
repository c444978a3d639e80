import type { Page } from 'playwright-core';
import type { Claims, OidcStub } from '../../../test/stub/oidc/oidc-stub.ts';
import type { Scene } from './scenes.ts';

/** Returns the login, with a token and at the OpenID provider, and what becomes of it. */
export function loginScenes(provider: OidcStub): readonly Scene[] {
  const anna = provider.person;
  const bob = { sub: 'u-2', email: 'bob@example.com', email_verified: true };
  return [
    { page: 'login', address: '/login', reader: 'stranger' },
    {
      page: 'login-refused',
      address: '/login',
      reader: 'stranger',
      act: async (page) => {
        await page.getByText('Log in with a token').click();
        await page.getByLabel('Token').fill('a-token-that-nobody-has');
        await page.getByRole('button', { name: 'Log in' }).click();
        await page.getByRole('alert').waitFor();
      },
    },
    {
      page: 'login-cancelled',
      address: '/login',
      reader: 'stranger',
      act: async (page) => {
        await page.getByRole('link', { name: 'Log in with Acme' }).click();
        await page.getByRole('link', { name: 'Cancel' }).click();
        await page.getByRole('alert').waitFor();
      },
    },
    {
      page: 'login-without-a-role',
      address: '/login',
      reader: 'member',
      act: async (page) => {
        await logIn(page, provider, bob);
        await page.getByRole('heading', { name: 'You have no role yet' }).waitFor();
      },
    },
    {
      page: 'overview-as-a-member',
      address: '/login',
      reader: 'member',
      act: async (page) => {
        await logIn(page, provider, anna);
        await page.locator('.reader').waitFor();
      },
    },
  ];
}

/** Logs a person in at the provider, after a logout if there was a login before. */
async function logIn(page: Page, provider: OidcStub, person: Claims): Promise<void> {
  await page.context().clearCookies();
  await page.goto(new URL('/login', page.url()).href);
  provider.person = person;
  await page.getByRole('link', { name: 'Log in with Acme' }).click();
  await page.getByRole('link', { name: 'I am Anna' }).click();
}
