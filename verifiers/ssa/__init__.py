"""Rules of every module, whatever its dialects: operations as they are declared, values defined before they are used."""
