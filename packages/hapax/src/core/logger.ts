/** Where warnings and errors go. `console` and pino's child loggers with a small wrapper fit. */
export interface Logger {
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

export const consoleLogger: Logger = {
  warn: (message, fields) => console.warn(`hapax ${message}`, fields),
  error: (message, fields) => console.error(`hapax ${message}`, fields),
};
