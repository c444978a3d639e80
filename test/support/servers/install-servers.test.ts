import { expect, onTestFinished, test, vi } from 'vitest';
import { ToolFailure } from '../program/tool.ts';
import { installServers } from './install-servers.ts';

test('whoever may not install servers is told what to install, without a stack trace', () => {
  const asUser = vi.spyOn(process, 'getuid').mockReturnValue(1000);
  onTestFinished(() => asUser.mockRestore());
  const install = () => installServers(['redis', 'postgres']);
  expect(install).toThrow(ToolFailure); // runTool prints its message alone
  expect(install).toThrow('sudo apt-get install --no-install-recommends redis-server postgresql');
});
