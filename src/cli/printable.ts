// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about them
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/**
 * Text of an agent for a terminal: tabs and line feeds stay, other control characters become U+FFFD, so
 * that it cannot move the cursor, set colours or answer for the user.
 */
export function printable(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(controls, '\ufffd');
}

/** The first line, at most `maxChars` long. */
export function oneLine(text: string, maxChars: number): string {
  const line = printable(text).replace(/\s+/g, ' ').trim();
  return line.length <= maxChars ? line : `${line.slice(0, maxChars - 1)}…`;
}
