// A page that is opened from a file may not read the index of the search, so it has no field for it.
if (location.protocol === "file:") document.documentElement.classList.add("opened-from-file");
