// Package config reads the microservice's file, a TOML text, and watches it.
//
// A file is taken as a whole or refused as a whole: unknown names, values out
// of range and contradictions are errors that say where. What a file does not
// mention has the value of Default, which is that of the white paper's demo.
package config
