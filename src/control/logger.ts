/** Structured log: facts first, then one sentence. What pino's logger offers and this room uses. */
export interface Logger {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
}
