"""The rows of a sweep in files: Parquet, Thrift, and the database that reads them."""
