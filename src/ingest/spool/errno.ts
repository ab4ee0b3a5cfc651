/** The system's code of a failed call, e.g. `ENOENT`; undefined if the error carries none. */
export function errnoCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
