/** The six kinds of a JSON value. */
export type JsonKind = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** The kind of a valid JSON value, told by its first byte. */
export function jsonKind(firstByte: number | undefined): JsonKind {
  switch (firstByte) {
    case 0x22:
      return 'string';
    case 0x7b:
      return 'object';
    case 0x5b:
      return 'array';
    case 0x74:
    case 0x66:
      return 'boolean';
    case 0x6e:
      return 'null';
    default:
      return 'number';
  }
}
