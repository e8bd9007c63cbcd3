// Package path finds values in JSON documents by paths, in the two dialects of RedisJSON.
//
// The one idea: there is one grammar. What does not begin as a JSONPath does is a legacy path, and
// is read as the JSONPath that it stands for; only the commands tell the two apart, by what they
// reply. A parsed path is evaluated over the bytes of a document, and nothing is decoded.
//
// The grammar is that of RedisJSON 8.8, which is not that of RFC 9535:
//
//	path    = "$" segment*
//	segment = "." name | "." "*" | ["."] "[" sel "]" | ".." ( name | "*" | "[" sel "]" )
//	name    = letters, digits and - _ ` ~ + # % $ ^ / :
//	sel     = "*" | string ("," string)* | int ("," int)* | slice | "?" filter
//	slice   = [int] ":" [int] [ ":" [step] ]
//	filter  = unit (("&&" | "||") unit)*        && binds tighter
//	unit    = "(" filter ")" | term [ op term ]
//	term    = ("@" | "$") [ name | "*" ] segment* | string | number | true | false | null
//	op      = == != < <= > >= =~
//
// with spaces between any two of these. Matches come in the order of the document, those of a list
// in the order of the list, and what a path reaches in several ways is matched several times.
//
// Evaluation is bounded by steps and by matches, whatever the path and the document: Find says so.
package path
