import { builtProgram } from '../test/support/program/built-program.ts';
import { newFolder, type Workbench } from './workbench.ts';

const programs = new Map<string, Promise<string>>();

/** Returns the file that starts a built leadsync, in a folder of its own. Builds it once. @throws Error if the build fails */
export function installedProgram(workbench: Pick<Workbench, 'folder'>): Promise<string> {
  const program = programs.get(workbench.folder) ?? builtProgram(newFolder(workbench));
  programs.set(workbench.folder, program);
  return program;
}
