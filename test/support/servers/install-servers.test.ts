import { expect, onTestFinished, test, vi } from 'vitest';
import { ToolFailure } from '../program/tool.ts';
import { installServers } from './install-servers.ts';

test('without permission to install servers, the tool names what to install and prints no stack trace', () => {
  const asUser = vi.spyOn(process, 'getuid').mockReturnValue(1000);
  onTestFinished(() => asUser.mockRestore());
  const install = () => installServers(['redis', 'postgres']);
  expect(install).toThrow(ToolFailure); // runTool prints only its message
  expect(install).toThrow('sudo apt-get install --no-install-recommends redis-server postgresql');
});
